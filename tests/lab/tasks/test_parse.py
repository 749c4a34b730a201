"""The dependency parser, on a made-up treebank."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch

import sparsewood as sp
from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.data.vectors import WordVectors
from sparsewood.lab.tasks.attachment import Attachment
from sparsewood.lab.tasks.parse import (
    LOSSES,
    DependencyParser,
    ParserConfig,
    ParserLoss,
    build_parser,
    load_parser,
)

SMALL = ParserConfig(
    embedding=12, characters=6, filters=8, layers=2, hidden=16, arc=16, dropout=0.0
)
NOUNS, VERBS, PLACES = ("oaks", "elms", "owls"), ("shade", "see", "feed"), ("in", "near")


def treebank(size: int, seed: int) -> list[Sentence]:
    """Subject, verb, object, and at times a place that hangs from the object or from the verb."""
    draw = random.Random(seed)
    sentences = []
    for _ in range(size):
        words, heads = [draw.choice(NOUNS), draw.choice(VERBS), draw.choice(NOUNS)], [2, 0, 2]
        place = draw.choice((None, *PLACES))
        if place is not None:  # "in" goes with the object, "near" with the verb
            words += [place, draw.choice(NOUNS)]
            heads += [5, 3 if place == "in" else 2]
        words.append(".")
        heads.append(2)
        sentences.append(Sentence(tuple(words), tuple(heads)))
    return sentences


def vectors() -> WordVectors:
    words = [*NOUNS, *VERBS, *PLACES, "ash"]
    generator = torch.Generator().manual_seed(1)
    return WordVectors(5, words, torch.randn(len(words), 5, generator=generator))


def train(
    parser: DependencyParser, sentences: list[Sentence], loss: ParserLoss, steps: int
) -> None:
    optimizer = torch.optim.Adam(parser.parameters(), 0.01)
    batch = parser.input.batch(sentences)
    parser.train()
    for _ in range(steps):
        optimizer.zero_grad()
        parser.loss(batch, loss).backward()
        optimizer.step()


@pytest.mark.parametrize("loss", LOSSES)
def test_learns_the_treebank(loss: ParserLoss) -> None:
    torch.manual_seed(0)
    sentences = treebank(24, seed=0)
    parser = build_parser(sentences, vectors(), SMALL)
    train(parser, sentences, loss, steps=60)
    score = Attachment()
    words = [s.words for s in sentences]
    for sentence, heads in zip(sentences, parser.parse(words), strict=True):
        score.add(sentence, heads)
    assert score.values()["uas"] == 100


def test_trees_have_one_root_and_batches_do_not_matter() -> None:
    torch.manual_seed(0)
    parser = build_parser(treebank(8, seed=0), vectors(), SMALL)
    words = [s.words for s in treebank(12, seed=2)]
    heads = parser.parse(words)
    assert heads == [parser.parse([one], budget=1)[0] for one in words]
    trees = sp.DependencyTrees(single_root=True)
    assert all(
        trees.contains(torch.tensor([tree]), (len(tree), len(tree) + 1)).all() for tree in heads
    )
    assert dict(parser.parsed(words)) == dict(enumerate(heads))
    assert parser.parse([]) == []


def test_parsing_leaves_the_mode_alone() -> None:
    parser = build_parser(treebank(4, seed=0), None, SMALL)
    for mode in (True, False):
        parser.train(mode)
        parser.parse([("oaks",)])
        assert parser.training is mode
    with pytest.raises(ValueError, match="sentence 1 has no words"):
        parser.parse([("oaks",), ()])


def test_dropout_acts_while_training_alone() -> None:
    torch.manual_seed(0)
    options = ParserConfig(**{**vars(SMALL), "dropout": 0.5})
    parser = build_parser(treebank(4, seed=0), vectors(), options)
    batch = parser.input.batch(treebank(4, seed=0))
    assert not torch.equal(parser(batch), parser(batch))
    parser.eval()
    assert torch.equal(parser(batch), parser(batch))


def test_the_loss_is_a_mean_over_words() -> None:
    torch.manual_seed(0)
    parser = build_parser(treebank(4, seed=0), None, SMALL)
    sentences = treebank(3, seed=1)
    batch = parser.input.batch(sentences)
    assert batch.heads is not None
    each = sp.crf_loss(
        parser(batch), batch.heads, parser.structure, lengths=batch.lengths, reduction="none"
    )
    words = sum(len(s.words) for s in sentences)
    torch.testing.assert_close(parser.loss(batch, "crf"), each.sum() / words)
    with pytest.raises(ValueError, match="expected sentences with heads"):
        parser.loss(parser.input.batch([Sentence(("oaks",))]))


def test_vectors_serve_words_that_training_has_not_seen() -> None:
    torch.manual_seed(0)
    parser = build_parser(treebank(4, seed=0), vectors(), SMALL)
    known, unknown = (int(parser.input.batch([Sentence((w,))]).rows) for w in ("Ash", "yew"))
    torch.testing.assert_close(
        parser.vectors[known].float(), vectors().lookup(["ash"])[0], rtol=1e-3, atol=1e-3
    )
    assert unknown == 0
    assert not parser.vectors[0].any()
    assert "vectors" not in dict(parser.named_parameters())


def test_saved_and_loaded(tmp_path: Path) -> None:
    torch.manual_seed(0)
    parser = build_parser(treebank(8, seed=0), vectors(), SMALL)
    words = [s.words for s in treebank(5, seed=3)]
    parser.save_pretrained(tmp_path)
    for loaded in (load_parser(tmp_path), DependencyParser.from_pretrained(tmp_path)):
        assert loaded.options == parser.options
        assert loaded.vectors.dtype == torch.float16
        assert loaded.parse(words) == parser.parse(words)
        assert not loaded.training


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="absent: no such folder"):
        load_parser(tmp_path / "absent")
    with pytest.raises(ValueError, match="not a readable parser of sparsewood"):
        load_parser(tmp_path)
    build_parser(treebank(4, seed=0), None, SMALL).save_pretrained(tmp_path)
    config = tmp_path / "config.json"
    good = json.loads(config.read_text(encoding="utf-8"))
    for bad, message in (
        ({"task": "nli"}, "config.json is not that of a parser"),
        ({"words": good["words"][:-1]}, "size mismatch|not a readable"),
        ({"options": {"depth": 3}}, "depth"),
    ):
        config.write_text(json.dumps(good | bad), encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            load_parser(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"layers": 0}, "layers"), ({"dropout": 1.0}, "dropout"), ({"vectors": -1}, "vectors")],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=rf"parser\.{message}: expected"):
        ParserConfig(**options)
