"""Resuming: the outcome is that of the undisturbed run, bit for bit."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from sparsewood.lab.run import TrainingInterrupted, train
from sparsewood.lab.tasks import load_model
from tests.runs import INDUCTION, QUIET, with_encoder, with_words


def test_all_of_it_resumes(make_config, resumes, tmp_path: Path) -> None:
    config = with_words(make_config(**INDUCTION))
    resumes(config, {3: "step 3 of epoch 1", 8: "step 3 of epoch 2"})
    assert (tmp_path / "parts" / "checkpoints" / "0004" / "average.safetensors").exists()


def test_more_epochs_would_change_the_rounding_of_earlier_ones(make_config, tmp_path: Path) -> None:
    short, longer = (
        with_words(make_config(max_epochs=n, temperatures=False), scorer="between") for n in (1, 2)
    )
    train(short, tmp_path / "run", progress=QUIET)
    with pytest.raises(ValueError, match="another configuration: training.max_epochs: 1 -> 2"):
        train(longer, tmp_path / "run", resume=True, progress=QUIET)
    assert not with_words(make_config("flat"), scorer="between").rounds
    assert not with_words(make_config(rounding=None), scorer="between").rounds


@pytest.mark.parametrize("scorer", ["between", "both"])
def test_rounding_resumes(make_config, resumes, scorer: str) -> None:
    config = make_config(max_epochs=3, temperatures=False, linear=True, lr=0.01, average=0.8)
    config = with_words(config, scorer=scorer)
    resumes(config, {3: "step 3 of epoch 1", 8: "step 3 of epoch 2"})


@pytest.mark.parametrize(
    ("estimator", "composer"),
    [
        ("gibbs", "messages"),
        ("relaxed", "messages"),
        ("perturbed", "tree_gru"),
        ("aimle:step=0.1", "tree_lstm"),
        ("score-function:baseline=moving", "ordered"),
    ],
)
def test_what_is_drawn_and_remembered_resumes(
    make_config, resumes, tmp_path: Path, estimator: str, composer: str
) -> None:
    config = make_config(estimator, composer=composer, lr=0.01, max_epochs=2, temperatures=False)
    resumes(config, {3: "step 3 of epoch 1"})
    memory = {
        k: v
        for k, v in load_model(tmp_path / "parts" / "model").state_dict().items()
        if ".memory." in k
    }
    assert any(v.any() for v in memory.values()) == ("aimle" in estimator or "moving" in estimator)


@pytest.mark.parametrize("tuned", [False, True])
def test_a_pretrained_encoder_resumes(
    make_config, resumes, save_encoder, tmp_path: Path, tuned: bool
) -> None:
    folder = save_encoder(tmp_path / "encoder", hidden_dropout_prob=0.2)
    config = with_encoder(make_config(lr=0.1, max_epochs=2), folder, tune_encoder=tuned)
    resumes(config, {3: "step 3 of epoch 1"})
    # What training does not change is in the model, and not in each checkpoint.
    kept = load_file(tmp_path / "parts" / "checkpoints" / "0002" / "model.safetensors")
    assert any(name.startswith("encoder.network.") for name in kept) == tuned
    whole = load_file(tmp_path / "parts" / "model" / "model.safetensors")
    assert any(name.startswith("encoder.network.") for name in whole)


def test_kept_outputs_change_no_result(
    make_config, recording, encoder_folder: Path, tmp_path: Path
) -> None:
    config = with_encoder(make_config(lr=0.1, max_epochs=2), encoder_folder)
    without = replace(config, training=replace(config.training, encoder_cache=0.0))
    losses, notes = [], []
    for name, one in (("computed", config), ("read", config), ("without", without)):
        progress = recording()
        result = train(one, tmp_path / name, progress=progress)
        losses.append([result["validation"]["loss"], result["tests"]["test"]["loss"]])
        notes.append([note.split()[0] for note in progress.notes if "frozen encoder" in note])
    assert notes == [["computing"], ["reading"], []]
    assert losses[0] == losses[1]
    assert losses[0] == pytest.approx(losses[2], rel=1e-4)


@pytest.mark.parametrize("tuned", [False, True])
def test_another_encoder_in_the_same_place_is_noticed(
    make_config, save_encoder, tmp_path: Path, tuned: bool
) -> None:
    """Other weights where they stay fixed, another tokenizer in any case."""
    folder = save_encoder(tmp_path / "encoder")
    config = with_encoder(make_config(max_epochs=1), folder, tune_encoder=tuned)
    train(config, tmp_path / "run", progress=QUIET)
    (tmp_path / "run" / "result.json").unlink()
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="no such folder of a pretrained encoder"):
        train(config, tmp_path / "run", resume=True, progress=QUIET)
    (tmp_path / "elsewhere").rename(folder)
    if tuned:
        path = folder / "tokenizer.json"
        told = json.loads(path.read_text())
        assert told["normalizer"].pop("lowercase")
        path.write_text(
            json.dumps(told | {"normalizer": told["normalizer"] | {"lowercase": False}})
        )
    else:
        path = folder / "model.safetensors"
        save_file({k: v + 1 for k, v in load_file(path).items()}, path, {"format": "pt"})
    with pytest.raises(ValueError, match="pretrained encoder have changed since the run began"):
        train(config, tmp_path / "run", resume=True, progress=QUIET)


@pytest.mark.parametrize("options", [{}, {"shuffle": "batches", "reduction": "sum", "clip": 5.0}])
def test_more_epochs_than_at_first(make_config, outcome, tmp_path: Path, options: dict) -> None:
    once, twice = tmp_path / "once", tmp_path / "twice"
    train(make_config(**options), once, progress=QUIET)
    train(make_config(max_epochs=2, **options), twice, progress=QUIET)
    train(make_config(**options), twice, resume=True, progress=QUIET)
    assert outcome(twice) == outcome(once)


def test_a_checkpoint_of_before_calls_were_counted(make_config, outcome, tmp_path: Path) -> None:
    once, twice = tmp_path / "once", tmp_path / "twice"
    train(make_config(), once, progress=QUIET)
    train(make_config(max_epochs=2), twice, progress=QUIET)
    for path in twice.glob("checkpoints/*/state.pt"):
        state = torch.load(path, weights_only=False)
        for process in state["processes"]:
            del process["calls"]
        torch.save(state, path)
    train(make_config(), twice, resume=True, progress=QUIET)
    assert outcome(twice) == outcome(once)


@pytest.mark.full
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
from sparsewood.lab.run import Progress, RunConfig, train

config, folder, steps, seconds = sys.argv[1:]

class Doomed(Progress):
    left = int(steps)

    def step(self, step, values):
        self.left -= 1
        if self.left == 0:
            threading.Timer(float(seconds), os.kill, (os.getpid(), signal.SIGKILL)).start()

train(RunConfig.from_json(json.loads(config)), folder, resume=True, progress=Doomed())
"""


@pytest.mark.full
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


def test_a_parser_that_is_stopped_goes_on(make_parser_config, resumes) -> None:
    config = make_parser_config(dropout=0.3)
    resumes(config, {5: "step 2 of epoch 2"})  # of three steps each


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
