"""The schedule: decay after an epoch that is not the best, an end after too many in a row."""

import pytest

from sparsewood.lab.run.schedule import Schedule, share


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
