"""Sweeps: grids and ranges, going on after interruptions, processes that share a storage."""

import json
from pathlib import Path
from typing import Any

import pytest

from sparsewood.lab.jobs import local_pool as module
from sparsewood.lab.run import NonFiniteLoss, Progress, Run, TrainingInterrupted
from sparsewood.lab.study.space import with_options
from sparsewood.lab.study.sweep import sweep

pytest.importorskip("optuna", reason="needs the extra [sweep]")

QUIET = Progress()


def test_a_grid(make_config, tmp_path: Path) -> None:
    space = {"training.lr": [0.1, 0.5], "model.estimator": ["flat", "sparsemap"]}
    base = make_config(max_epochs=1)
    found = sweep(base, tmp_path, space, progress=QUIET)
    options = [trial["options"] for trial in found["trials"]]
    assert options == [
        {"training.lr": lr, "model.estimator": estimator}
        for lr in (0.1, 0.5)
        for estimator in ("flat", "sparsemap:max_active=10")
    ]
    for trial in found["trials"]:
        run = Run(trial["folder"])
        assert run.config == with_options(base, trial["options"])
        assert run.result is not None
        assert run.result["validation"]["accuracy"] == trial["value"]
    assert found["best"]["value"] == max(trial["value"] for trial in found["trials"])
    assert sweep(base, tmp_path, space, progress=QUIET) == found  # nothing is left to do
    with pytest.raises(ValueError, match="begun with another space; take another folder"):
        sweep(base, tmp_path, {"training.lr": [0.1, 0.2]}, progress=QUIET)


def test_ranges_in_a_database(make_config, tmp_path: Path) -> None:
    space = {
        "training.lr": "log:1e-2:1",
        "model.dropout": "uniform:0:0.5",
        "training.batch": "int:4:8",
    }
    found = sweep(
        make_config("flat", max_epochs=1),
        tmp_path,
        space,
        2,
        storage=f"sqlite:///{tmp_path / 'sweep.db'}",
        progress=QUIET,
    )
    assert len(found["trials"]) == 2
    for trial in found["trials"]:
        lr, dropout, batch = (trial["options"][name] for name in space)
        assert 0.01 <= lr <= 1
        assert 0 <= dropout <= 0.5
        assert batch in range(4, 9)


def test_an_interrupted_sweep_goes_on(make_config, tmp_path: Path, monkeypatch) -> None:
    train, calls = module.train, []

    def interrupted(config: Any, folder: Path, **named: Any) -> dict[str, Any]:
        calls.append(folder.name)
        if len(calls) == 2:
            raise TrainingInterrupted
        return train(config, folder, **named)

    monkeypatch.setattr(module, "train", interrupted)
    base, space = make_config("flat", max_epochs=1), {"training.lr": "log:0.01:1"}
    with pytest.raises(TrainingInterrupted):
        sweep(base, tmp_path, space, 3, progress=QUIET)
    found = sweep(base, tmp_path, space, 3, progress=QUIET)
    assert calls == ["trial-0000", "trial-0001", "trial-0001", "trial-0002"]
    assert [trial["state"] for trial in found["trials"]] == ["complete"] * 3


def test_a_trial_of_a_living_process_is_left_to_it(
    make_config, tmp_path: Path, monkeypatch
) -> None:
    train = module.train
    base, space = make_config("flat", max_epochs=1), {"training.lr": [0.1, 0.5]}
    inner: list[dict[str, Any]] = []

    def meanwhile(config: Any, folder: Path, **named: Any) -> dict[str, Any]:
        monkeypatch.setattr(module, "train", train)
        inner.append(sweep(base, tmp_path, space, progress=QUIET))
        return train(config, folder, **named)

    monkeypatch.setattr(module, "train", meanwhile)
    found = sweep(base, tmp_path, space, progress=QUIET)
    assert [trial["state"] for trial in inner[0]["trials"]] == ["running", "complete"]
    assert [trial["state"] for trial in found["trials"]] == ["complete", "complete"]


def test_a_trial_that_diverges_is_no_candidate(make_config, tmp_path: Path, monkeypatch) -> None:
    def diverge(*_: Any, **__: Any) -> dict[str, Any]:
        raise NonFiniteLoss("no")

    monkeypatch.setattr(module, "train", diverge)
    found = sweep(make_config(), tmp_path, {"training.lr": [1.0]}, progress=QUIET)
    assert found["best"] is None
    assert found["trials"][0]["state"] == "fail"


def test_pruning(make_config, tmp_path: Path, monkeypatch) -> None:
    def epochs(config: Any, folder: Path, *, progress: Progress, **_: Any) -> dict[str, Any]:
        value = 10.0 - int(folder.name[-1])  # each trial is worse than the one before
        progress.end_epoch({"epoch": 1, "stage": 4, "validation": {"accuracy": -value}})
        for epoch in (2, 3):
            progress.start_epoch(epoch, 0, 1)
            record = {"epoch": epoch, "validation": {"accuracy": value}}
            progress.end_epoch(record)
        result = {"validation": {"accuracy": value}, "criterion": "accuracy"}
        (folder / "config.json").write_text("{}")
        (folder / "result.json").write_text(json.dumps(result))
        return result

    class Started(Progress):
        count = 0

        def start_epoch(self, epoch: int, done: int, steps: int, stage: int | None = None) -> None:
            self.count += 1

    monkeypatch.setattr(module, "train", epochs)
    space, started = {"training.lr": "log:0.01:1"}, Started()
    found = sweep(make_config(), tmp_path, space, 8, prune=True, progress=started)
    assert started.count >= 13
    states = [trial["state"] for trial in found["trials"]]
    assert states == ["complete"] * 5 + ["pruned"] * 3  # optuna prunes from the sixth on


@pytest.mark.full
def test_several_trials_at_a_time(make_config, tmp_path: Path) -> None:
    base, space = make_config("flat", max_epochs=1), {"training.lr": [0.1, 0.5]}
    alone = sweep(base, tmp_path / "alone", space, progress=QUIET)
    pair = sweep(base, tmp_path / "pair", space, workers=2, progress=QUIET)
    values = [[(t["options"], t["value"]) for t in found["trials"]] for found in (alone, pair)]
    assert values[0] == values[1]


@pytest.mark.full
def test_a_trial_in_another_process_is_given_up(make_config, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("optuna.Trial.should_prune", lambda trial: trial.number == 1)
    endless = make_config("flat", max_epochs=100_000, patience=100_000)
    space = {"training.max_epochs": [1, 100_000]}
    found = sweep(endless, tmp_path, space, prune=True, workers=2, progress=QUIET)
    assert [trial["state"] for trial in found["trials"]] == ["complete", "pruned"]
    assert Run(tmp_path / "trial-0001").metrics


def test_a_trial_that_fails_ends_the_sweep(make_config, tmp_path: Path, monkeypatch) -> None:
    def fail(*_: Any, **__: Any) -> dict[str, Any]:
        raise OSError("no space left")

    with monkeypatch.context() as failing:
        failing.setattr(module, "train", fail)
        with pytest.raises(ValueError, match="trial 0: no space left"):
            sweep(make_config("flat"), tmp_path, {"training.lr": [1.0]}, progress=QUIET)
    found = sweep(make_config("flat"), tmp_path, {"training.lr": [1.0]}, progress=QUIET)
    assert [trial["state"] for trial in found["trials"]] == ["complete"]  # it is gone on with


@pytest.mark.parametrize(
    ("space", "trials", "message"),
    [
        ({"training.rate": [1]}, 1, "training.rate: not an option .* training has optimizer"),
        ({"lr": [1]}, 1, "lr: not an option of source, model or training$"),
        ({"training.lr": "log:0:1"}, 1, "expected a list of values, or log:LOW:HIGH"),
        ({"training.lr": "log:1"}, 1, "got 'log:1'"),
        ({"training.lr": []}, 1, "training.lr: expected at least one value"),
        ({"training.lr": "log:0.1:1"}, None, "needs their number"),
        ({"model.hidden": [6, 7]}, 1, "model.hidden: expected an even number"),
    ],
)
def test_wrong_spaces(make_config, tmp_path: Path, space: dict, trials: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sweep(make_config(), tmp_path / "new", space, trials, progress=QUIET)
    assert not (tmp_path / "new").exists()
