"""Schedules: rates and their decay, when training ends, budgets, annealed numbers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparsewood.lab.run import Progress, Run, RunConfig, TrainingConfig, train
from sparsewood.lab.run.schedule import (
    Annealing,
    Schedule,
    annealings,
    ended_by_budget,
    epochs_allowed,
    is_raised,
    rounded,
    seconds_left,
    share,
)


def _run(values: list[float], *, higher: bool = True) -> tuple[Schedule, list[bool], int]:
    schedule, best = Schedule(1.0), []
    for epoch, value in enumerate(values, 1):
        best.append(schedule.update(epoch, value, higher_is_better=higher, decay=0.5))
        if schedule.over(epoch, max_epochs=20, patience=3):
            return schedule, best, epoch
    return schedule, best, 0


def test_decay_and_end() -> None:
    schedule, best, end = _run([1, 3, 2, 4, 4, 1, 0, 9])
    assert best == [True, True, False, True, False, False, False]
    assert (schedule.best, schedule.best_epoch, schedule.bad, end) == (4, 4, 3, 7)
    assert schedule.lr == pytest.approx(0.5**4)


def test_lower_is_better() -> None:
    schedule, best, end = _run([3, 2, 2, 1], higher=False)
    assert best == [True, True, False, True]
    assert (schedule.best_epoch, schedule.bad, end) == (4, 0, 0)


def test_an_equal_value_is_no_new_best() -> None:
    assert _run([1, 1])[1] == [True, False]


def test_the_first_settled_epoch_is_better_than_all_before() -> None:
    schedule, best = Schedule(1.0), []
    for epoch, (value, settled) in enumerate(
        [(5, False), (4, False), (3, True), (2, True), (4, True)], 1
    ):
        best.append(
            schedule.update(epoch, value, higher_is_better=True, decay=0.5, settled=settled)
        )
        if epoch == 2:
            assert (schedule.lr, schedule.bad) == (1.0, 0)
    assert best == [True, False, True, False, True]
    assert (schedule.lr, schedule.best, schedule.best_epoch) == (0.5, 4, 5)


def test_how_far_steps_are_rounded() -> None:
    found = [rounded(done, (0.2, 0.6)) for done in (0, 0.2, 0.3, 0.6, 1)]
    assert found == pytest.approx([0, 0, 0.25, 1, 1])
    assert [rounded(done, (0, 0)) for done in (0, 1)] == [1, 1]
    assert rounded(1, None) == 0
    for span in ((0.6, 0.2), (-0.1, 1), (0, 1.1), (0.5,)):
        with pytest.raises(ValueError, match="rounding: expected two shares from 0 to 1"):
            TrainingConfig(rounding=span)  # type: ignore[arg-type]


def test_the_most_epochs() -> None:
    schedule = Schedule(1.0)
    assert not schedule.over(4, max_epochs=5, patience=1)
    assert schedule.over(5, max_epochs=5, patience=1)


def test_no_patience_is_endless() -> None:
    schedule = Schedule(1.0, best=1.0, best_epoch=1, bad=100)
    assert not schedule.over(101, max_epochs=102, patience=None)
    assert schedule.over(101, max_epochs=102, patience=100)


def test_the_rate_rises_and_falls_step_by_step() -> None:
    assert [share(i) for i in (0, 9)] == [1, 1]
    assert [share(i, warm_up=4) for i in range(6)] == [0.25, 0.5, 0.75, 1, 1, 1]
    assert [share(i, steps=4) for i in range(6)] == [1, 0.75, 0.5, 0.25, 0, 0]
    assert [share(i, warm_up=2, steps=4) for i in range(4)] == [0.5, 0.75, 0.5, 0.25]


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


def test_values_go_evenly_and_stay() -> None:
    (cooling,) = annealings(["temperature=4:1"], "sparsemap:temperature=2,max_active=5")
    assert [cooling.at(epoch, 3) for epoch in range(6)] == [4, 3, 2, 1, 1, 1]
    (noise, more) = annealings(["noise=1:0", "max_active=2:10"], "sparsemap")
    assert [noise.at(epoch, 2) for epoch in range(4)] == [1, 0.5, 0, 0]
    values = [more.at(epoch, 3) for epoch in range(5)]
    assert values == [2, 5, 7, 10, 10]
    assert all(type(value) is int for value in values)


def test_options_that_an_estimator_needs_are_kept() -> None:
    assert annealings(["temperature=2:1"], "topk:k=5") == [Annealing("temperature", 2.0, 1.0)]
    assert annealings(["k=2:9"], "topk:k=5") == [Annealing("k", 2, 9)]


def test_the_temperature_of_a_chart() -> None:
    found = annealings(["temperature=1:0.1"], "chart:choice=gumbel")
    assert found == [Annealing("temperature", 1.0, 0.1)]
    with pytest.raises(ValueError, match="estimator chart: the options are input, choice"):
        annealings(["max_active=1:10"], "chart")
    assert annealings(["noise=1:0"], "chart") == []  # it has no arc scores


@pytest.mark.parametrize("estimator", ["flat", "given", "mean", "lstm"])
def test_fixed_trees_have_nothing_to_anneal(estimator: str) -> None:
    assert annealings(["temperature=4:1", "noise=1:0"], estimator) == []
    with pytest.raises(ValueError, match="expected NAME=FROM:TO"):
        annealings(["temperature"], estimator)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["temperature=4"], "expected NAME=FROM:TO, got 'temperature=4'"),
        (["temperature"], "expected NAME=FROM:TO"),
        (["temperature=4:2:1"], "expected NAME=FROM:TO"),
        (["noise=1:0", "noise=2:1"], "expected noise once, got 'noise=2:1'"),
        (["colour=1:2"], "the options are temperature, .*; got 'colour=1'"),
        (["temperature=4:cold"], "temperature: expected a number, got 'cold'"),
        (["temperature=4:0"], "temperature must be positive"),
        (["max_active=2:2.5"], "max_active: expected a whole number or none, got '2.5'"),
        (["max_active=none:10"], "max_active: expected a number of at least 0, got 'none'"),
        (["solver=native:generic"], "solver: expected a number of at least 0, got 'native'"),
        (["noise=-1:0"], "noise: expected a number of at least 0, got '-1'"),
        (["noise=nan:0"], "noise: expected a number of at least 0, got 'nan'"),
        (["noise=loud:0"], "loud"),
    ],
)
def test_what_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=f"^training.anneal: .*{message}"):
        annealings(texts, "sparsemap:max_active=5")
