"""Evaluation: its metrics, how it is stopped, and what is shown meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from sparsewood.lab.data.batches import Batch, Batches
from sparsewood.lab.run import train
from sparsewood.lab.run.evaluate import evaluate
from sparsewood.lab.run.prepare import prepare
from sparsewood.lab.tasks.metrics import Accuracy, Output
from sparsewood.lab.tasks.model import TreeModel


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


def test_a_batch_that_memory_has_no_room_for(model_and_split, monkeypatch) -> None:
    model, split = model_and_split
    monkeypatch.setattr(TreeModel, "context", lambda *_: torch.empty(2**46))
    with pytest.raises(ValueError, match=r"memory: evaluating 12 sentences, the longest .*--eval-"):
        evaluate(model, Batches(split, 100))


def test_every_evaluation_is_shown(make_config, recording, tmp_path: Path) -> None:
    class Shown(recording):
        def __init__(self) -> None:
            super().__init__()
            self.works: list[list[object]] = []

        def start_work(self, name: str, batches: int) -> None:
            self.works.append([name, batches, 0])

        def work(self, batches: int) -> None:
            self.works[-1][2] = batches

    shown = Shown()
    train(make_config(max_epochs=2, eval_batch=5), tmp_path / "run", progress=shown)
    assert shown.works == [
        *[["validation", 3, 3]] * 2,
        ["temperatures", 51, 51],
        ["validation", 3, 3],
        ["test", 4, 4],  # in four bins by length
    ]
    (said,) = [note for note in shown.notes if note.startswith("choosing")]
    assert said == (
        "choosing the temperature: trying 17 on the 12 validation examples "
        "(--no-temperatures skips this)"
    )
    silent = recording()
    train(make_config("flat", max_epochs=1), tmp_path / "flat", progress=silent)
    assert not any(note.startswith("choosing") for note in silent.notes)
