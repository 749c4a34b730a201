"""Handling of Ctrl-C and SIGTERM: training stops at the next safe point, within a second."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

GRACE = 0.25  # seconds for current work to end by itself
_AGAIN = 1.0  # seconds until unfinished work is interrupted again


class TrainingInterrupted(Exception):  # noqa: N818 (not an error)
    """Training was stopped by a signal; the message says what is saved."""


class Abandoned(BaseException):
    """Raised in work that a signal interrupts; not an Exception, so that nothing catches it."""


class StopWish:
    """Whether a signal has asked the run to stop."""

    def __init__(self) -> None:
        self.raised = False
        self._grace: float | None = None  # of the current work, if it may be abandoned

    @contextmanager
    def abandonable(self, grace: float = GRACE) -> Iterator[None]:
        """Mark work without side effects: a signal interrupts it after `grace` seconds.

        Native calls are interrupted too, as they run Python's signal handlers.

        Raises:
            Abandoned: if a signal arrives or has arrived before.
        """
        if self.raised:
            raise Abandoned
        self._grace = grace
        try:
            yield
        finally:
            self._grace = None

    def raise_now(self) -> None:
        """Called on a signal: interrupt the current work, possibly after `grace` seconds."""
        self.raised = True
        if self._grace is None:
            return
        if not self._grace or not hasattr(signal, "setitimer"):  # not available on Windows
            raise Abandoned
        signal.signal(signal.SIGALRM, self._leave)
        signal.setitimer(signal.ITIMER_REAL, self._grace, _AGAIN)

    def _leave(self, _number: int, _frame: FrameType | None) -> None:
        if self._grace is not None:
            raise Abandoned


_heard: list[StopWish] = []  # the active wish of the main thread, if any


@contextmanager
def listen() -> Iterator[StopWish]:
    """Defer SIGINT and SIGTERM to the next safe point; a second signal acts immediately.

    This works in the main thread only; in other threads the wish is never raised. Nested calls
    share one wish, so that a signal between two runs stops the second.
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
