"""The loop: protocol, resuming bit for bit, signals, and losses that are not finite."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from sparsewood.lab._files import sole_writer
from sparsewood.lab.data.sources import Subj
from sparsewood.lab.tasks.metrics import Output
from sparsewood.lab.train import (
    NonFiniteLoss,
    Progress,
    RunConfig,
    TrainingInterrupted,
    judge,
    train,
    trainer,
)
from sparsewood.lab.train.trainer import Trainer

QUIET = Progress()


class Recorder(Progress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.epochs: list[int] = []
        self.steps = 0

    def note(self, text: str) -> None:
        self.notes.append(text)

    def step(self, step: int, values: Any) -> None:
        self.steps += 1

    def end_epoch(self, record: dict[str, Any]) -> None:
        self.epochs.append(record["epoch"])

    def finish(self, folder: Path, result: dict[str, Any], *, already: bool = False) -> None:
        self.notes.append(f"{folder}: {'already ' * already}finished")


def test_a_run_and_what_it_leaves(make_config, tmp_path: Path) -> None:
    config = make_config()
    result = train(config, tmp_path / "run", progress=QUIET)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    files = "config.json environment.json gallery.json metrics.jsonl result.json"
    assert names == {*files.split(), "checkpoints", "model"}
    lines = [json.loads(x) for x in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4]
    assert [line["step"] for line in lines] == [5, 10, 15, 20]
    lr = 0.5
    for line in lines:
        assert line["lr"] == pytest.approx(lr)
        lr *= 1 if line["best"] else 0.9
        assert {"loss", "accuracy", "support", "single"} <= line["train"].keys()
        assert sum(line["validation"]["histogram"].values()) == 12
    best = [line for line in lines if line["best"]][-1]
    assert result["best_epoch"] == best["epoch"]
    assert len(result["temperature_curve"]) == 17
    assert result["validation"]["accuracy"] >= best["validation"]["accuracy"]
    assert result["tests"].keys() == {"test"}


@pytest.mark.parametrize("estimator", ["flat", "left_to_right", "right_to_left", "given"])
def test_fixed_trees_have_no_temperature(make_config, tmp_path: Path, estimator: str) -> None:
    result = train(make_config(estimator, max_epochs=1), tmp_path, progress=QUIET)
    assert result["temperature"] is None
    assert result["temperature_curve"] == {}
    assert result["validation"]["support"] == 1.0


@pytest.mark.parametrize(
    "options",
    [
        {"optimizer": "adam", "lr": 0.01, "clip": 0.5},
        {"precision": "bfloat16"},
    ],
)
def test_other_optimizers_and_precisions(make_config, tmp_path: Path, options: dict) -> None:
    train(make_config(max_epochs=1, **options), tmp_path, progress=QUIET)


def _moved(config: RunConfig, folder: Path) -> Tensor:
    """How far training moves the weights, as one vector."""
    train(config, folder, progress=QUIET)
    before = trainer.prepare(config)[1]
    after = load_file(folder / "model" / "model.safetensors")
    return torch.cat([(after[n] - w.detach()).flatten() for n, w in before.named_parameters()])


def test_a_sum_is_a_mean_at_a_higher_rate(make_config, tmp_path: Path) -> None:
    options = {"dropout": 0.0, "max_epochs": 2, "temperatures": False}
    mean = _moved(make_config("flat", lr=0.8, **options), tmp_path / "mean")
    summed = _moved(make_config("flat", lr=0.1, reduction="sum", **options), tmp_path / "sum")
    torch.testing.assert_close(summed, mean, atol=1e-5, rtol=1e-3)


def test_the_gradient_of_the_sum_is_clipped(make_config, tmp_path: Path) -> None:
    options = {"dropout": 0.0, "max_epochs": 1, "batch": 40, "lr": 1.0, "clip": 0.01}
    moved = _moved(make_config("flat", reduction="sum", **options), tmp_path)
    assert float(moved.norm()) == pytest.approx(0.01, rel=1e-3)


def test_patience_ends_a_run(make_config, tmp_path: Path) -> None:
    config = make_config("flat", lr=1e-9, max_epochs=50, patience=2)
    recorder = Recorder()
    train(config, tmp_path, progress=recorder)
    assert recorder.epochs == [1, 2, 3]
    longer = replace(config, training=replace(config.training, max_epochs=60))
    train(longer, tmp_path, resume=True, progress=recorder)
    assert recorder.epochs == [1, 2, 3]
    assert recorder.notes[-1] == f"{tmp_path}: already finished"


@pytest.mark.parametrize("options", [{}, {"shuffle": "batches", "reduction": "sum", "clip": 5.0}])
def test_more_epochs_than_at_first(make_config, outcome, tmp_path: Path, options: dict) -> None:
    once, twice = tmp_path / "once", tmp_path / "twice"
    train(make_config(**options), once, progress=QUIET)
    train(make_config(max_epochs=2, **options), twice, progress=QUIET)
    train(make_config(**options), twice, resume=True, progress=QUIET)
    assert outcome(twice) == outcome(once)


def test_dead_before_any_change_of_a_file(make_config, outcome, tmp_path, monkeypatch) -> None:
    """The folder as it is before each change, which is what a kill then leaves, leads on."""
    config = make_config(max_epochs=2, checkpoint_minutes=1e-9, batch=20, temperatures=False)
    run, whole = tmp_path / "run", tmp_path / "whole"
    left: dict[str, Path] = {}
    copying = False

    def copied(change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any, **named: Any) -> Any:
            nonlocal copying
            if run.exists() and not copying:
                copying = True
                files = [(path, path.is_file() and path.read_bytes()) for path in run.rglob("*")]
                state = repr(sorted(files))
                if state not in left:
                    left[state] = shutil.copytree(run, tmp_path / f"{len(left)}")
                copying = False
            return change(*arguments, **named)

        return changed

    for name in ("mkdir", "fsync", "rename", "replace", "unlink", "rmdir"):
        monkeypatch.setattr(os, name, copied(getattr(os, name)))
    train(config, run, progress=QUIET)
    monkeypatch.undo()
    assert len(left) > 30
    train(config, whole, progress=QUIET)
    for folder in left.values():
        train(config, folder, resume=True, progress=QUIET)
        assert outcome(folder) == outcome(whole)


# Trains until some step, and is killed some seconds after it, wherever it is then.
DOOMED = """
import json, os, signal, sys, threading
from sparsewood.lab.train import Progress, RunConfig, train

config, folder, steps, seconds = sys.argv[1:]

class Doomed(Progress):
    left = int(steps)

    def step(self, step, values):
        self.left -= 1
        if self.left == 0:
            threading.Timer(float(seconds), os.kill, (os.getpid(), signal.SIGKILL)).start()

train(RunConfig.from_json(json.loads(config)), folder, resume=True, progress=Doomed())
"""


def test_killed_again_and_again(make_config, outcome, undisturbed, tmp_path: Path) -> None:
    """The outcome is that of the undisturbed run, bit for bit."""
    # A checkpoint after every step: the more is written, the more often the kill falls into it.
    # That option is no part of the outcome.
    config = make_config(checkpoint_minutes=1e-9)
    for steps, seconds in ((3, "0"), (4, "0.005"), (5, "0.02")):
        command = [sys.executable, "-c", DOOMED, json.dumps(config.to_json()), tmp_path]
        process = subprocess.run([*command, str(steps), seconds], check=False)
        assert process.returncode == -signal.SIGKILL
    train(config, tmp_path, resume=True, progress=QUIET)
    assert outcome(tmp_path) == undisturbed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("when", ["step 7", "validation", "end"])
def test_a_signal_saves(
    make_config, outcome, undisturbed, tmp_path: Path, monkeypatch, number: int, when: str
) -> None:
    class Signals(Recorder):
        def step(self, step: int, values: Any) -> None:
            super().step(step, values)
            if when == "step 7" and self.steps == 7:
                os.kill(os.getpid(), number)

    evaluations = 0
    evaluate = judge.evaluate

    def disturbed(*arguments: Any, **named: Any) -> dict[str, Any]:
        nonlocal evaluations
        evaluations += 1
        if evaluations == {"validation": 2, "end": 6}.get(when):
            os.kill(os.getpid(), number)
        return evaluate(*arguments, **named)

    monkeypatch.setattr(judge, "evaluate", disturbed)
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
    monkeypatch.setattr(trainer, "prepare", lambda *_: _ask_and_work())
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


def _broken_state(path: Path) -> None:
    torch.save(
        {**torch.load(path / "state.pt"), "schedule": {"colour": "green"}}, path / "state.pt"
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: (path / "state.pt").write_bytes(b"no"),
        lambda path: (path / "state.pt").unlink(),
        lambda path: torch.save([1, 2], path / "state.pt"),
        lambda path: torch.save({"epoch": 3}, path / "state.pt"),
        _broken_state,
        lambda path: (path / "model.safetensors").write_bytes(b"\0" * 100),
    ],
)
def test_a_damaged_checkpoint_falls_back(
    make_config, outcome, undisturbed, tmp_path: Path, damage: Callable[[Path], Any]
) -> None:
    class Stops(Recorder):
        def end_epoch(self, record: dict[str, Any]) -> None:
            if record["epoch"] == 3:
                os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(TrainingInterrupted):
        train(make_config(), tmp_path, progress=Stops())
    damage(tmp_path / "checkpoints" / "0003")
    recorder = Recorder()
    train(make_config(), tmp_path, resume=True, progress=recorder)
    assert "0003: not a" in recorder.notes[0]
    assert recorder.notes[0].endswith("going back to 0002")
    assert "\n" not in recorder.notes[0]
    assert outcome(tmp_path) == undisturbed


def test_no_checkpoint_is_whole(make_config, tmp_path: Path) -> None:
    train(make_config("flat", max_epochs=2), tmp_path, progress=QUIET)
    (tmp_path / "result.json").unlink()
    for path in (tmp_path / "checkpoints").iterdir():
        (path / "state.pt").write_bytes(b"no")
    with pytest.raises(ValueError, match=r"0002: not a readable .*no checkpoint of .* is whole"):
        train(make_config("flat", max_epochs=2), tmp_path, resume=True, progress=QUIET)


def test_training_in_another_thread(make_config, outcome, undisturbed, tmp_path: Path) -> None:
    thread = threading.Thread(
        target=train, args=(make_config(), tmp_path), kwargs={"progress": QUIET}
    )
    thread.start()
    thread.join()
    assert outcome(tmp_path) == undisturbed


def test_a_loss_that_is_not_finite(make_config, tmp_path: Path, monkeypatch) -> None:
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
    _, _, splits = trainer.prepare(config)
    rows = trainer.Batches(splits["train"], 8, shuffle="examples", seed=0).order(1)[2]
    assert f"rows {', '.join(map(str, rows))} of" in str(caught.value)
    assert str(tmp_path / "checkpoints" / "0001") in str(caught.value)
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["0001"]


@pytest.mark.parametrize("estimator", ["flat", "sparsemap"])
def test_divergence_is_told(make_config, tmp_path: Path, estimator: str) -> None:
    with pytest.raises(NonFiniteLoss, match="not finite"):
        train(make_config(estimator, lr=1e38), tmp_path, progress=QUIET)


def test_folders_in_use(make_config, tmp_path: Path) -> None:
    config = make_config("flat", max_epochs=1)
    train(config, tmp_path / "run", progress=QUIET)
    with pytest.raises(ValueError, match="holds a run; pass --resume"):
        train(config, tmp_path / "run", progress=QUIET)
    other = make_config("flat", max_epochs=1, lr=0.25)
    with pytest.raises(ValueError, match="another configuration: training.lr: 0.5 -> 0.25$"):
        train(other, tmp_path / "run", resume=True, progress=QUIET)
    shorter = make_config("flat", max_epochs=2)
    train(shorter, tmp_path / "run", resume=True, progress=QUIET)
    with pytest.raises(ValueError, match="training.max_epochs: 2 -> 1"):
        train(config, tmp_path / "run", resume=True, progress=QUIET)
    (tmp_path / "parts" / "checkpoints").mkdir(parents=True)
    with pytest.raises(ValueError, match="no config.json"):
        train(config, tmp_path / "parts", progress=QUIET)


def test_two_processes_cannot_train_in_one_folder(make_config, tmp_path: Path) -> None:
    with (
        sole_writer(tmp_path),
        pytest.raises(ValueError, match="another process is writing there"),
    ):
        train(make_config("flat"), tmp_path, resume=True, progress=QUIET)
    assert not list(tmp_path.iterdir())


def test_bad_input_leaves_no_run(make_config, tmp_path: Path) -> None:
    config = make_config("flat", max_epochs=1)
    missing = replace(config, source=Subj(tmp_path / "nowhere"))
    with pytest.raises((ValueError, OSError), match="nowhere"):
        train(missing, tmp_path / "run", progress=QUIET)
    train(config, tmp_path / "run", progress=QUIET)  # the folder is free


def test_tensorboard(make_config, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs the extra [tensorboard]")
    train(make_config("flat", max_epochs=1, tensorboard=True), tmp_path, progress=QUIET)
    assert list((tmp_path / "tensorboard").glob("events.*"))
