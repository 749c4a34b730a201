"""Evaluation, the search for a temperature, and the gallery."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from sparsewood.lab.data.batches import Batch, Batches, EncodedSplit
from sparsewood.lab.run.evaluate import evaluate, gallery
from sparsewood.lab.run.prepare import prepare
from sparsewood.lab.tasks.metrics import Accuracy, Output
from sparsewood.lab.tasks.model import TreeModel


@pytest.fixture
def model_and_split(make_config) -> tuple[TreeModel, EncodedSplit]:
    _, model, splits = prepare(make_config())
    split = splits["validation"]
    assert isinstance(model, TreeModel)
    assert isinstance(split, EncodedSplit)
    return model, split


def test_evaluation(model_and_split) -> None:
    model, split = model_and_split
    model.train()
    whole = evaluate(model, Batches(split, 100))
    assert model.training
    parts = evaluate(model, Batches(split, 5))
    model.eval()
    with torch.no_grad():
        output = model(split.batch(range(len(split))))
    right = (output.prediction.argmax(-1) == split.targets).double().mean()
    assert whole["accuracy"] == parts["accuracy"] == pytest.approx(100 * float(right))
    assert whole["loss"] == pytest.approx(parts["loss"], 1e-5)
    assert whole["histogram"] == parts["histogram"]
    sizes = output.posteriors[0].sizes
    assert whole["histogram"] == {str(int(n)): int((sizes == n).sum()) for n in sizes.unique()}
    assert {"support", "single", "flat", "unconverged", "agreement", "attachment"} <= whole.keys()
    missing = ~output.posteriors[0].converged
    assert whole["unconverged"] == parts["unconverged"] == int(missing.sum()) > 0
    assert whole["capped"] == int((missing & (sizes == 10)).sum()) > 0


def test_fixed_trees_have_no_certificates(make_config) -> None:
    _, model, splits = prepare(make_config("flat"))
    assert not {"unconverged", "capped"} & evaluate(model, Batches(splits["test"], 5)).keys()


def test_metrics_are_worked_out_in_full_precision(model_and_split, monkeypatch) -> None:
    model, split = model_and_split
    add, kinds = Accuracy.add, []

    def seen(self: Accuracy, output: Output, batch: Batch) -> None:
        kinds.append((torch.is_autocast_enabled("cpu"), output.prediction.dtype))
        add(self, output, batch)

    monkeypatch.setattr(Accuracy, "add", seen)
    evaluate(model, Batches(split, 100), precision="bfloat16")
    assert kinds == [(False, torch.float32)]


def test_evaluation_can_be_stopped(model_and_split) -> None:
    model, split = model_and_split

    @contextmanager
    def guard() -> Iterator[None]:
        raise KeyError("stop")
        yield

    model.train()
    with pytest.raises(KeyError, match="stop"):
        evaluate(model, Batches(split, 5), guard=guard)
    assert model.training


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


def test_a_batch_that_memory_has_no_room_for(model_and_split, monkeypatch) -> None:
    model, split = model_and_split
    monkeypatch.setattr(TreeModel, "context", lambda *_: torch.empty(2**46))
    with pytest.raises(ValueError, match=r"memory: evaluating 12 sentences, the longest .*--eval-"):
        evaluate(model, Batches(split, 100))
