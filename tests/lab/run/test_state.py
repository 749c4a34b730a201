"""Resuming: the outcome is that of the undisturbed run, bit for bit."""

import itertools
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

from sparsewood.estimators import SparseMAP
from sparsewood.lab.run import Progress, RunConfig, TrainingInterrupted, train
from sparsewood.lab.run.distributed import World
from sparsewood.lab.run.interrupt import StopWish
from sparsewood.lab.run.setup import set_up
from sparsewood.lab.run.state import TrainingState
from sparsewood.lab.tasks import TreeModel, load_model

QUIET = Progress()
WORDS = {"composer_input": "words", "own_embeddings": True, "noise": 1.0, "entropy": 0.01}
INDUCTION = {
    "parser_lr": 0.1,
    "composer_first": 1,
    "warm_up": 4,
    "average": 0.8,
    "anneal_epochs": 2,
    "anneal": ("temperature=4:1", "max_active=2:10", "noise=1:0"),
}


def watch(config: RunConfig, folder: Path, look: Callable[[TrainingState], None]) -> TrainingState:
    """The state at the end of a run; `look` sees it after every step."""

    class Watcher(Progress):
        def step(self, step: int, values: Any) -> None:
            look(trainer.state)

    trainer = set_up(config, folder, World(0, 1, torch.device("cpu")), Watcher(), StopWish())
    trainer.run()
    return trainer.state


def with_words(config: RunConfig, **options: Any) -> RunConfig:
    return replace(config, model=replace(config.model, **{**WORDS, **options}))


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (WORDS, ["encoder", "trees.scorer"]),
        ({**WORDS, "own_embeddings": False}, ["encoder.lstm", "trees.scorer"]),
        ({}, ["trees.scorer"]),
    ],
)
def test_the_parser_has_a_rate_of_its_own(make_config, tmp_path, options, names) -> None:
    rates: list[list[float]] = []
    config = make_config(parser_lr=0.05, warm_up=4, max_epochs=1)
    state = watch(
        replace(config, model=replace(config.model, **options)),
        tmp_path,
        lambda state: rates.append([group["lr"] for group in state.optimizer.param_groups]),
    )
    assert rates == [pytest.approx([0.5 * p, 0.05 * p]) for p in (0.25, 0.5, 0.75, 1, 1)]
    apart = set(map(id, state.optimizer.param_groups[1]["params"]))
    found = [name for name, p in state.model.named_parameters() if id(p) in apart]
    assert found == [n for n, _ in state.model.named_parameters() if n.startswith(tuple(names))]
    assert sum(len(group["params"]) for group in state.optimizer.param_groups) == len(state.learned)


def test_the_rate_falls_to_0_at_the_end_that_seconds_foretell(make_config, tmp_path: Path) -> None:
    """Five steps an epoch, and in all 2.5 times as many seconds as an epoch takes: three epochs."""
    rates: list[float] = []
    config = make_config("flat", linear=True, max_epochs=10, max_seconds=2.5, lr=1.0, patience=None)
    alone = World(0, 1, torch.device("cpu"))
    state = set_up(config, tmp_path, alone, QUIET, StopWish()).state
    for done in range(3):
        for state.step in range(5):
            state.set_rate(5)
            rates.append(state.optimizer.param_groups[0]["lr"])
        state.history.append({"seconds": 1.0, "step": 5 * (done + 1)})
        assert state.over == (done == 2)
    first, rest = rates[:5], rates[5:]
    assert first == pytest.approx([1 - i / 50 for i in range(5)])  # nothing is known yet
    assert rest == pytest.approx([1 - i / 15 for i in range(5, 15)])


def test_fixed_trees_have_no_parser(make_config, tmp_path: Path) -> None:
    state = watch(make_config("flat", **INDUCTION), tmp_path, lambda state: None)
    assert len(state.optimizer.param_groups) == 1


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_composer_learns_first(make_config, tmp_path: Path, optimizer: str) -> None:
    config = with_words(make_config(composer_first=2, max_epochs=3, optimizer=optimizer, lr=0.01))
    seen: list[tuple[int, dict[str, torch.Tensor]]] = []

    def look(state: TrainingState) -> None:
        weights = {name: p.detach().clone() for name, p in state.model.named_parameters()}
        seen.append((state.epoch, weights))

    watch(config, tmp_path, look)
    frozen = ("encoder.", "trees.scorer.")
    for (_, before), (epoch, after) in itertools.pairwise(seen):
        for name, weight in after.items():
            moves = epoch >= 2 or not name.startswith(frozen)
            assert torch.equal(weight, before[name]) != moves, (epoch, name)


def test_what_is_annealed(make_config, tmp_path: Path) -> None:
    annealed = {name: INDUCTION[name] for name in ("anneal", "anneal_epochs")}
    config = with_words(make_config(max_epochs=4, patience=None, temperatures=False, **annealed))
    seen: dict[int, set[tuple[Any, ...]]] = {}

    def look(state: TrainingState) -> None:
        assert isinstance(state.model, TreeModel)
        assert state.model.trees is not None
        estimator = state.model.trees.estimator
        assert isinstance(estimator, SparseMAP)
        values = (estimator.temperature, estimator.max_active, state.model.trees.noise.scale)
        seen.setdefault(state.epoch, set()).add(values)

    state = watch(config, tmp_path, look)
    assert seen == {0: {(4, 2, 1)}, 1: {(2.5, 6, 0.5)}, 2: {(1, 10, 0)}, 3: {(1, 10, 0)}}
    kept: Any = load_model(tmp_path / "model")
    estimator = kept.trees.estimator
    best = state.schedule.best_epoch - 1
    assert {(estimator.temperature, estimator.max_active)} == {value[:2] for value in seen[best]}
    # Validation is of the moment too.
    sizes = [max(map(int, record["validation"]["histogram"])) for record in state.history]
    assert sizes[0] <= 2
    assert sizes[1] <= 6


def test_averaged_weights_are_validated_and_kept(make_config, tmp_path: Path) -> None:
    average: dict[str, torch.Tensor] = {}
    taken = itertools.count()

    def look(state: TrainingState) -> None:
        t = next(taken)
        keep = min(0.8, (1 + t) / (10 + t)) if t else 0.0  # the first steps are soon forgotten
        for name, p in state.model.named_parameters():
            new = p.detach().clone()
            average[name] = keep * average.get(name, new) + (1 - keep) * new

    config = make_config(average=0.8, max_epochs=1)
    state = watch(config, tmp_path, look)
    kept = load_file(tmp_path / "model" / "model.safetensors")
    for name, weight in state.model.named_parameters():
        torch.testing.assert_close(kept[name], average[name])
        assert not torch.equal(kept[name], weight)
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["validation"] == state.history[0]["validation"]


def test_all_of_it_resumes(make_config, resumes, tmp_path: Path) -> None:
    config = with_words(make_config(**INDUCTION))
    resumes(config, {3: "step 3 of epoch 1", 8: "step 3 of epoch 2"})
    assert (tmp_path / "parts" / "checkpoints" / "0004" / "average.safetensors").exists()


def test_rounding_rises_step_by_step(make_config, tmp_path: Path) -> None:
    """Five steps an epoch: it rises from the fourth step to the eighth, of twenty."""
    seen: list[float] = []
    config = make_config(max_epochs=4, patience=1, rounding=(0.2, 0.4), average=0.5)
    state = watch(
        with_words(config, scorer="between"), tmp_path, lambda state: seen.append(state.rounding)
    )
    rising = [0, 0, 0, 0, 0, 0.25, 0.5, 0.75]
    assert seen == pytest.approx([*rising, *[1] * (len(seen) - 8)])
    told = [record["rounding"] for record in state.history]
    assert told == pytest.approx([0.25, 1, 1, 1][: state.epoch])
    assert state.history[1]["best"]  # the epoch before is of another model
    assert state.schedule.best_epoch >= 2
    kept: Any = load_model(tmp_path / "model")
    assert kept.trees.scorer.rounding == 1
    never = with_words(
        replace(config, training=replace(config.training, rounding=None)), scorer="both"
    )
    assert watch(never, tmp_path / "never", lambda _: None).history[-1]["rounding"] == 0


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


def with_encoder(config: RunConfig, folder: Path, **options: Any) -> RunConfig:
    return replace(config, model=replace(config.model, encoder=f"hf:{folder}", **options))


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


@pytest.mark.parametrize(
    ("training", "shares"),
    [
        ({}, {"encoder.network": 6e-5, "encoder.projection": 1, "trees.scorer": 1}),
        (
            {"encoder_lr": "lr"},
            {"encoder.network": 1, "encoder.projection": 1, "trees.scorer": 1},
        ),
        (
            {"encoder_lr": "lr", "parser_lr": 0.1},
            {"encoder.network": 0.2, "trees.scorer": 0.2, "second": 1},
        ),
        ({"encoder_lr": 0.05}, {"encoder.network": 0.1, "encoder.projection": 1, "trees": 1}),
        (
            {"encoder_lr": 0.05, "parser_lr": 0.1},
            {"encoder.network": 0.1, "encoder.projection": 0.2, "trees.scorer": 0.2, "output": 1},
        ),
    ],
)
def test_a_tuned_encoder_has_a_rate_of_its_own(
    make_config, encoder_folder: Path, tmp_path: Path, training: dict, shares: dict[str, float]
) -> None:
    words = {"tune_encoder": True, "composer_input": "words"}
    config = with_encoder(make_config(warm_up=4, max_epochs=1), encoder_folder, **words)
    config = replace(config, training=replace(config.training, **training))
    rates: list[list[float]] = []
    state = watch(
        config,
        tmp_path,
        lambda state: rates.append([group["lr"] for group in state.optimizer.param_groups]),
    )
    last = {id(p): group["lr"] for group in state.optimizer.param_groups for p in group["params"]}
    assert len(last) == len(state.learned)
    assert rates[0] == pytest.approx([rate / 4 for rate in rates[-1]])
    for name, parameter in state.model.named_parameters():
        for start, share in shares.items():
            if name.startswith(start):
                assert last[id(parameter)] == pytest.approx(0.5 * share), name


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
