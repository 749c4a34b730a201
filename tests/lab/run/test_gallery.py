"""Galleries: which examples they hold, and their pictures."""

import pytest
import torch

from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.run.gallery import attention_of, attention_picture, gallery
from sparsewood.lab.run.prepare import prepare
from sparsewood.lab.tasks.metrics import Output


def test_gallery(model_and_split) -> None:
    model, split = model_and_split
    shown = gallery(model, split, k=5)
    assert shown == gallery(model, split, k=5)
    assert len(shown) == 5
    words = [e.sentences[0].words for e in split.examples]
    for entry in shown:
        (side,) = entry["sides"]
        example = split.examples[words.index(tuple(side["words"]))]
        (sentence,) = example.sentences
        assert sentence.heads is not None
        pairs = zip(sentence.words, sentence.heads, strict=True)
        assert side["given"] == [-1 if word == "]" else head for word, head in pairs]
        assert sum(tree["weight"] for tree in side["trees"]) == pytest.approx(1, abs=1e-5)
        solved = side["gap"] < 1e-6
        assert side["status"] == ("solved" if solved else "capped")
        assert solved or len(side["trees"]) == 10
        weights = [tree["weight"] for tree in side["trees"]]
        assert weights == sorted(weights, reverse=True)
        assert all(len(tree["heads"]) == len(side["words"]) for tree in side["trees"])
        values = list(entry["prediction"].values())
        assert values == sorted(values, reverse=True)
        assert len(values) == min(5, len(model.labels))
    handy = sum(6 <= len(w) <= 16 for w in words)
    assert sum(6 <= len(e["sides"][0]["words"]) <= 16 for e in shown) == min(5, handy)


@pytest.mark.parametrize(("reader", "trees"), [("chart", 1), ("bow", 0)])
def test_galleries_of_readers(reader: str, trees: int, make_config) -> None:
    _, model, splits = prepare(make_config(reader))
    for example in gallery(model, splits["validation"], k=3):
        (side,) = example["sides"]
        assert len(side["trees"]) == trees
        assert all(len(tree["spans"]) == 2 * len(side["words"]) - 1 for tree in side["trees"])
        assert "scores" not in side


def test_a_small_split_is_shown_in_full(model_and_split) -> None:
    model, split = model_and_split
    assert len(gallery(model, split, k=50)) == len(split)


SENTENCES = [Sentence(("a", "b")), Sentence(("c",))]


def test_from_weights_to_a_picture() -> None:
    weights = torch.tensor([[[0.7, 0.3], [0.04, 0.9]]])
    output = Output(None, torch.zeros(1, 3), (), weights)
    told = attention_of(SENTENCES, output, 0)
    assert told == {"attention": [[0, 0, 0.7]]}  # the second column is padding
    picture = attention_picture({"sides": [{"words": s.words} for s in SENTENCES], **told})
    assert picture is not None
    assert picture.parts() == ["a – c 70.0%"]


def test_without_attention() -> None:
    assert attention_of(SENTENCES, Output(None, torch.zeros(1, 3), ()), 0) == {}
    assert attention_picture({"sides": []}) is None


def test_damage_is_told() -> None:
    sides = [{"words": sentence.words} for sentence in SENTENCES]
    with pytest.raises(ValueError, match="link"):
        attention_picture({"sides": sides, "attention": [[0, 7, 0.5]]})
