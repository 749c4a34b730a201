"""Steps and epochs: the rule of a step, signals, a full disk, losses that are not finite."""

import errno
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from sparsewood.lab.data.batches import Batches
from sparsewood.lab.run import (
    NonFiniteLoss,
    Progress,
    Run,
    RunConfig,
    TrainingInterrupted,
    setup,
    train,
)
from sparsewood.lab.run.evaluate import Evaluator
from sparsewood.lab.run.loop import Trainer
from sparsewood.lab.run.losses import Losses
from sparsewood.lab.run.prepare import prepare
from sparsewood.lab.tasks import TreeModel
from sparsewood.lab.tasks.metrics import Output

QUIET = Progress()


def _moved(config: RunConfig, folder: Path) -> Tensor:
    """How far training moves the weights, as one vector."""
    train(config, folder, progress=QUIET)
    before = prepare(config)[1]
    after = load_file(folder / "model" / "model.safetensors")
    return torch.cat([(after[n] - w.detach()).flatten() for n, w in before.named_parameters()])


@pytest.mark.parametrize(
    ("estimator", "calls"),
    [("flat", 0), ("straight-through", 1), ("score-function:samples=2", 3)],
)
def test_what_an_epoch_asks_of_inference(
    make_config, tmp_path: Path, estimator: str, calls: int
) -> None:
    """By example, evaluation not counted: one best tree, or a sum and two samples."""
    config = make_config(estimator, max_epochs=2, temperatures=False)
    train(config, tmp_path, progress=QUIET)
    assert [record["calls"] for record in Run(tmp_path).metrics] == [calls, calls]


def test_a_sum_is_a_mean_at_a_higher_rate(make_config, tmp_path: Path) -> None:
    options = {"dropout": 0.0, "max_epochs": 2, "temperatures": False}
    mean = _moved(make_config("flat", lr=0.8, **options), tmp_path / "mean")
    summed = _moved(make_config("flat", lr=0.1, reduction="sum", **options), tmp_path / "sum")
    torch.testing.assert_close(summed, mean, atol=1e-5, rtol=1e-3)


def test_the_first_step_of_adam_is_its_learning_rate(make_config, tmp_path: Path) -> None:
    options = {"dropout": 0.0, "max_epochs": 1, "batch": 40, "optimizer": "adam", "lr": 0.01}
    moved = _moved(make_config("flat", **options), tmp_path)
    assert float(moved.abs().max()) == pytest.approx(0.01, rel=1e-3)


def test_reduced_precision_rounds_the_steps_and_not_the_weights(
    make_config, tmp_path: Path
) -> None:
    options = {"dropout": 0.0, "max_epochs": 1, "batch": 40, "lr": 1.0}
    whole = _moved(make_config("flat", **options), tmp_path / "whole")
    rounded = _moved(make_config("flat", precision="bfloat16", **options), tmp_path / "rounded")
    assert rounded.dtype == torch.float32
    assert 0 < float((rounded - whole).norm()) < 0.05 * float(whole.norm())


def test_the_gradient_of_the_sum_is_clipped(make_config, tmp_path: Path) -> None:
    options = {"dropout": 0.0, "max_epochs": 1, "batch": 40, "lr": 1.0, "clip": 0.01}
    moved = _moved(make_config("flat", reduction="sum", **options), tmp_path)
    assert float(moved.norm()) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("when", ["step 7", "validation", "end"])
def test_a_signal_saves(
    make_config,
    outcome,
    undisturbed,
    recording,
    tmp_path: Path,
    monkeypatch,
    number: int,
    when: str,
) -> None:
    class Signals(recording):
        def step(self, step: int, values: Any) -> None:
            super().step(step, values)
            if when == "step 7" and self.steps == 7:
                os.kill(os.getpid(), number)

    evaluations = 0
    evaluate = Evaluator.evaluate

    def disturbed(*arguments: Any, **named: Any) -> dict[str, Any]:
        nonlocal evaluations
        evaluations += 1
        if evaluations == {"validation": 2, "end": 6}.get(when):
            os.kill(os.getpid(), number)
        return evaluate(*arguments, **named)

    monkeypatch.setattr(Evaluator, "evaluate", disturbed)
    before = signal.getsignal(number)
    saved = {
        "step 7": "after step 2 of epoch 2",
        "validation": "after step 5 of epoch 2",
        "end": "after epoch 4",
    }[when]
    with pytest.raises(TrainingInterrupted, match=f"is saved {saved}"):
        train(make_config(), tmp_path, progress=Signals())
    assert signal.getsignal(number) == before
    monkeypatch.undo()
    train(make_config(), tmp_path, resume=True, progress=QUIET)
    assert outcome(tmp_path) == undisturbed


def _ask_and_work() -> None:
    """A signal, and work that does not end by itself before the test has failed."""
    os.kill(os.getpid(), signal.SIGTERM)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass


def test_an_abandoned_step_is_forgotten(make_config, outcome, tmp_path: Path, monkeypatch) -> None:
    """What the estimator remembers of it too, which learns in the backward pass."""
    config = make_config("aimle:step=0.1", lr=0.01, max_epochs=2)
    train(config, tmp_path / "whole", progress=QUIET)
    forward, steps = Trainer._forward, 0

    def long(self: Trainer, batch: Any, rows: Any) -> Output:
        nonlocal steps
        steps += 1
        output = forward(self, batch, rows)
        if steps == 3:
            assert output.loss is not None
            output.loss.sum().backward(retain_graph=True)
            _ask_and_work()
        return output

    monkeypatch.setattr(Trainer, "_forward", long)
    with pytest.raises(TrainingInterrupted, match="after step 2 of epoch 1"):
        train(config, tmp_path / "parts", progress=QUIET)
    monkeypatch.undo()
    train(config, tmp_path / "parts", resume=True, progress=QUIET)
    assert outcome(tmp_path / "parts") == outcome(tmp_path / "whole")


@pytest.mark.parametrize("where", ["first step", "step 7", "backward"])
def test_a_long_step_is_abandoned(
    make_config, outcome, undisturbed, tmp_path: Path, monkeypatch, where: str
) -> None:
    forward, steps = Trainer._forward, 0

    def long(self: Trainer, batch: Any, rows: Any) -> Output:
        nonlocal steps
        steps += 1
        output = forward(self, batch, rows)  # dropout draws, and will draw the same again
        if steps == 8 and where == "backward":
            assert output.loss is not None
            output.loss.register_hook(lambda _: _ask_and_work())
        elif steps == {"first step": 1, "step 7": 7}.get(where):
            _ask_and_work()
        return output

    monkeypatch.setattr(Trainer, "_forward", long)
    saved = {"first step": "at its start", "step 7": "after step 1 of epoch 2"}
    with pytest.raises(TrainingInterrupted, match=saved.get(where, "after step 2 of epoch 2")):
        train(make_config(), tmp_path, progress=QUIET)
    monkeypatch.undo()
    train(make_config(), tmp_path, resume=True, progress=QUIET)
    assert outcome(tmp_path) == undisturbed


def test_a_signal_while_the_data_are_read(make_config, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(setup, "prepare", lambda *_: _ask_and_work())
    with pytest.raises(TrainingInterrupted, match="while the data were read"):
        train(make_config(), tmp_path / "run", progress=QUIET)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("file", ["state.pt", "model.safetensors", "metrics.jsonl", "gallery.json"])
def test_a_full_disk_is_told_in_a_line(
    make_config, outcome, undisturbed, tmp_path: Path, monkeypatch, file: str
) -> None:
    written: list[str] = []

    def full(write: Callable[..., Any]) -> Callable[..., Any]:
        def written_or_not(path: Path, *arguments: Any, **named: Any) -> Any:
            if Path(file).stem in path.name:
                written.append(path.name)
                if len(written) == 2 or file == "gallery.json":
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            return write(path, *arguments, **named)

        return written_or_not

    for name in ("write_bytes", "write_text"):
        monkeypatch.setattr(Path, name, full(getattr(Path, name)))
    with pytest.raises(OSError, match=r"No space left on device.*the last whole") as caught:
        train(make_config(), tmp_path, progress=QUIET)
    kept = max(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "checkpoints" / kept) in str(caught.value)
    assert not list(tmp_path.rglob("*.partial"))
    monkeypatch.undo()
    train(make_config(), tmp_path, resume=True, progress=QUIET)
    assert outcome(tmp_path) == undisturbed


@pytest.mark.parametrize("patience", [1, 64])
def test_a_loss_that_is_not_finite(make_config, tmp_path: Path, monkeypatch, patience: int) -> None:
    """Found at once, or steps later as on a GPU, it is named all the same and nothing is saved."""
    monkeypatch.setattr(Losses, "due", property(lambda losses: len(losses._new) >= patience))
    forward = Trainer._forward

    def poisoned(self: Trainer, batch: Any, rows: Any) -> Output:
        output = forward(self, batch, rows)
        if self.state.epoch == 1 and self.state.step == 2:
            assert output.loss is not None
            return replace(output, loss=output.loss * torch.nan)
        return output

    monkeypatch.setattr(Trainer, "_forward", poisoned)
    config = make_config()
    with pytest.raises(NonFiniteLoss, match="epoch 2, step 3: .* rows") as caught:
        train(config, tmp_path, progress=QUIET)
    _, _, splits = prepare(config)
    rows = Batches(splits["train"], 8, shuffle="examples", seed=0).order(1)[2]
    assert f"rows {', '.join(map(str, rows))} of" in str(caught.value)
    assert str(tmp_path / "checkpoints" / "0001") in str(caught.value)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["0001"]


@pytest.mark.parametrize("estimator", ["flat", "sparsemap"])
def test_divergence_is_told(make_config, tmp_path: Path, estimator: str) -> None:
    with pytest.raises(NonFiniteLoss, match="not finite"):
        train(make_config(estimator, lr=1e38), tmp_path, progress=QUIET)


def test_a_step_that_memory_has_no_room_for(make_config, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(TreeModel, "context", lambda *_: torch.empty(2**46))
    message = r"memory: training on 8 sentences, .*, row \d+ of the training .* a smaller --batch"
    with pytest.raises(ValueError, match=message):
        train(make_config(), tmp_path, progress=QUIET)
