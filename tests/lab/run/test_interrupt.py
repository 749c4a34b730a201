"""Signals as wishes: heard at once, granted at a safe moment, soon in any case."""

import os
import signal
import time

import pytest

from sparsewood.lab.run.interrupt import Abandoned, listen

SIGNALS = [signal.SIGINT, signal.SIGTERM]


def ask(number: int) -> None:
    os.kill(os.getpid(), number)


def asked_for(number: int = signal.SIGTERM) -> None:
    """A signal, and work after it."""
    ask(number)
    work()


def work() -> None:
    """It does not end by itself before the test has failed."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass
    pytest.fail("the work was not left")


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("grace", [0.0, 0.05])
def test_long_work_is_left(number: int, grace: float) -> None:
    with listen() as stop:
        with pytest.raises(Abandoned), stop.abandonable(grace):
            asked_for(number)
        assert stop.raised


def test_work_that_swallows_the_first_call_is_told_again() -> None:
    def swallow() -> None:
        try:
            asked_for()
        except Abandoned:
            work()

    with listen() as stop, pytest.raises(Abandoned), stop.abandonable(0.05):
        swallow()


def test_short_work_ends_by_itself() -> None:
    with listen() as stop:
        with stop.abandonable(0.1):
            ask(signal.SIGTERM)
            done = True
        time.sleep(0.3)  # the alarm comes when there is nothing to leave
        assert done
        assert stop.raised


def test_no_work_is_begun_after_a_signal() -> None:
    with listen() as stop:
        ask(signal.SIGTERM)
        assert stop.raised
        with pytest.raises(Abandoned), stop.abandonable():
            pytest.fail("begun")


def test_a_second_signal_acts_at_once() -> None:
    with listen() as stop:
        ask(signal.SIGINT)
        assert stop.raised
        with pytest.raises(KeyboardInterrupt):
            ask(signal.SIGINT)


def test_signals_are_as_before_afterwards() -> None:
    numbers = [*SIGNALS, signal.SIGALRM]
    before = [signal.getsignal(number) for number in numbers]
    timer = signal.getitimer(signal.ITIMER_REAL)
    with pytest.raises(Abandoned), listen() as stop, stop.abandonable(0.01):
        asked_for()
    assert [signal.getsignal(number) for number in numbers] == before
    if timer == (0.0, 0.0):
        assert signal.getitimer(signal.ITIMER_REAL) == timer


def test_who_listens_within_hears_what_came_before() -> None:
    with listen() as outer:
        ask(signal.SIGTERM)
        with listen() as inner:
            assert inner is outer
            with pytest.raises(Abandoned), inner.abandonable():
                pytest.fail("the signal was lost")
    with listen() as later:
        assert not later.raised
