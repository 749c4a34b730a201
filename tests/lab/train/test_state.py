"""Resuming: the outcome is that of the undisturbed run, bit for bit."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sparsewood.lab.train import Progress, TrainingInterrupted, train

QUIET = Progress()


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


def test_a_parser_that_is_stopped_goes_on(
    make_parser_config, outcome, recording, tmp_path: Path
) -> None:
    class Stops(recording):
        def step(self, step: int, values: Any) -> None:
            super().step(step, values)
            if self.steps == 5:  # in the second epoch, of three steps each
                os.kill(os.getpid(), signal.SIGINT)

    config = make_parser_config(dropout=0.3)
    train(config, tmp_path / "whole", progress=QUIET)
    with pytest.raises(TrainingInterrupted, match="is saved after step 2 of epoch 2"):
        train(config, tmp_path / "parts", progress=Stops())
    train(config, tmp_path / "parts", resume=True, progress=QUIET)
    assert outcome(tmp_path / "parts") == outcome(tmp_path / "whole")


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
    make_config, outcome, undisturbed, recording, tmp_path: Path, damage: Callable[[Path], Any]
) -> None:
    class Stops(recording):
        def end_epoch(self, record: dict[str, Any]) -> None:
            if record["epoch"] == 3:
                os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(TrainingInterrupted):
        train(make_config(), tmp_path, progress=Stops())
    damage(tmp_path / "checkpoints" / "0003")
    recorder = recording()
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
