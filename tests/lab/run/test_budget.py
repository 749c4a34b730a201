"""Budgets of epochs and of seconds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparsewood.lab.run import Progress, Run, RunConfig, TrainingConfig, train
from sparsewood.lab.run.budget import ended_by_budget, epochs_allowed, is_raised, seconds_left

QUIET = Progress()


def _history(*seconds: float, stages: int = 0) -> list[dict[str, Any]]:
    return [{"seconds": s, **({"stage": 5} if i < stages else {})} for i, s in enumerate(seconds)]


def test_epochs_alone() -> None:
    config = TrainingConfig(max_epochs=3)
    assert epochs_allowed([], config) == epochs_allowed(_history(9.0, 9.0), config) == 3
    assert [ended_by_budget(_history(*[1.0] * n), config) for n in (2, 3)] == [False, True]
    assert seconds_left(_history(1.0), config) is None


def test_the_epoch_in_which_seconds_are_over_is_the_last() -> None:
    config = TrainingConfig(max_epochs=20, max_seconds=10.0)
    ended = [ended_by_budget(_history(*[3.0] * n), config) for n in range(5)]
    assert ended == [False, False, False, False, True]
    assert ended_by_budget(_history(5.0, 5.0), config)  # to the second
    assert seconds_left(_history(3.0), config) == 7.0
    assert seconds_left(_history(30.0), config) == 0.0


def test_epochs_are_foretold() -> None:
    config = TrainingConfig(max_epochs=6, max_seconds=10.0)
    assert epochs_allowed([], config) == 6
    assert epochs_allowed(_history(3.0), config) == 4
    assert epochs_allowed(_history(1.0), config) == 6  # there are no more
    assert epochs_allowed(_history(4.0, 4.0), config) == 3


def test_stages_cost_seconds_and_leave_an_epoch() -> None:
    config = TrainingConfig(max_epochs=6, max_seconds=10.0, short_first=(5,))
    assert not ended_by_budget(_history(20.0, stages=1), config)
    assert ended_by_budget(_history(20.0, 1.0, stages=1), config)
    assert epochs_allowed(_history(4.0, 2.0, stages=1), config) == 3


def test_which_budget_is_the_larger() -> None:
    few, more = TrainingConfig(max_epochs=2), TrainingConfig(max_epochs=3)
    short, long = (TrainingConfig(max_epochs=2, max_seconds=s) for s in (1.0, 2.0))
    assert is_raised(few, more)
    assert is_raised(short, long)
    assert is_raised(short, few)  # without a limit
    for old, new in ((more, few), (long, short), (few, short), (few, few), (more, long)):
        assert not is_raised(old, new)


def test_a_run_ends_after_the_epoch_in_which_its_seconds_are_over(
    make_config: Callable[..., RunConfig], tmp_path: Path
) -> None:
    result = train(make_config("flat", max_seconds=1e-9, patience=None), tmp_path, progress=QUIET)
    assert result["epochs"] == 1
    assert [record["epoch"] for record in Run(tmp_path).metrics] == [1]


@pytest.fixture
def run_of_one_epoch(make_config: Callable[..., RunConfig], tmp_path: Path) -> Path:
    """A run whose seconds are over after an epoch."""
    train(make_config("flat", max_seconds=1e-9, patience=None), tmp_path / "run", progress=QUIET)
    return tmp_path / "run"


def test_more_seconds_go_on_with_the_run(
    make_config: Callable[..., RunConfig], run_of_one_epoch: Path
) -> None:
    """The seconds of the epochs before count: those that a resumed run finds in its history."""
    taken = Run(run_of_one_epoch).metrics[0]["seconds"]
    longer = make_config("flat", max_seconds=taken + 1e-9, patience=None)
    assert train(longer, run_of_one_epoch, resume=True, progress=QUIET)["epochs"] == 2
    endless = make_config("flat", patience=None)
    assert train(endless, run_of_one_epoch, resume=True, progress=QUIET)["epochs"] == 4


def test_more_epochs_are_of_no_use_where_seconds_are_over(
    make_config: Callable[..., RunConfig], run_of_one_epoch: Path
) -> None:
    before = (run_of_one_epoch / "result.json").stat().st_mtime_ns
    more = make_config("flat", max_seconds=1e-9, patience=None, max_epochs=9)
    assert train(more, run_of_one_epoch, resume=True, progress=QUIET)["epochs"] == 1
    assert (run_of_one_epoch / "result.json").stat().st_mtime_ns == before


def test_fewer_seconds_are_another_configuration(
    make_config: Callable[..., RunConfig], run_of_one_epoch: Path
) -> None:
    fewer = make_config("flat", max_seconds=1e-10, patience=None)
    with pytest.raises(ValueError, match="another configuration: training.max_seconds: 1e-09"):
        train(fewer, run_of_one_epoch, resume=True, progress=QUIET)


def test_seconds_that_are_none() -> None:
    with pytest.raises(ValueError, match="training.max_seconds: expected a positive number"):
        TrainingConfig(max_seconds=0.0)
