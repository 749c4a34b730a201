"""Ctrl-C and SIGTERM as a wish that training grants at the next safe moment, within a second."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

GRACE = 0.25  # seconds that work at hand is given to end by itself
_AGAIN = 1.0  # seconds until work that has not ended yet is told again


class TrainingInterrupted(Exception):  # noqa: N818 (no error: the user asked for it)
    """Training was stopped by a signal; the message says what is saved and how to go on."""


class Abandoned(BaseException):
    """Raised in the midst of work that a signal has asked to leave; no error, so none catch it."""


class StopWish:
    """Whether a signal has asked the run to stop."""

    def __init__(self) -> None:
        self.raised = False
        self._grace: float | None = None  # of the work at hand, if it may be abandoned

    @contextmanager
    def abandonable(self, grace: float = GRACE) -> Iterator[None]:
        """Work that leaves nothing half done: a signal ends it after `grace` seconds.

        Native calls are ended as well, as they let Python's signal handlers run.

        Raises:
            Abandoned: if a signal comes, or has come before.
        """
        if self.raised:
            raise Abandoned
        self._grace = grace
        try:
            yield
        finally:
            self._grace = None

    def raise_now(self) -> None:
        """A signal has come: leave the work at hand, or give it a moment to end."""
        self.raised = True
        if self._grace is None:
            return
        if not self._grace or not hasattr(signal, "setitimer"):  # there is none on Windows
            raise Abandoned
        signal.signal(signal.SIGALRM, self._leave)
        signal.setitimer(signal.ITIMER_REAL, self._grace, _AGAIN)

    def _leave(self, _number: int, _frame: FrameType | None) -> None:
        if self._grace is not None:
            raise Abandoned


_heard: list[StopWish] = []  # by the main thread now: one wish, or none


@contextmanager
def listen() -> Iterator[StopWish]:
    """Turn SIGINT and SIGTERM into a wish; a second signal acts at once.

    Only the main thread can listen; elsewhere the wish is never raised. Who listens already hears
    the same wish within, so that a signal between two runs stops the second.
    """
    if threading.current_thread() is not threading.main_thread():
        yield StopWish()
        return
    if _heard:
        yield _heard[0]
        return
    wish = StopWish()
    names = ("SIGINT", "SIGTERM", "SIGALRM")
    before = {s: signal.getsignal(s) for n in names if (s := getattr(signal, n, None)) is not None}

    def handle(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        wish.raise_now()

    try:
        _heard.append(wish)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, handle)
        yield wish
    finally:
        _heard.clear()
        if wish.raised and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
