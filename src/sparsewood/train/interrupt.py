"""Ctrl-C and SIGTERM as a wish that the loop grants at the next safe moment."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TrainingInterrupted(Exception):  # noqa: N818 (no error: the user asked for it)
    """Training was stopped by a signal; the message says what is saved and how to go on."""


class StopWish:
    """Whether a signal has asked the run to stop."""

    def __init__(self) -> None:
        self.raised = False


@contextmanager
def listen() -> Iterator[StopWish]:
    """Turn SIGINT and SIGTERM into a wish; a second signal acts at once.

    Only the main thread can listen; elsewhere the wish is never raised.
    """
    wish = StopWish()
    if threading.current_thread() is not threading.main_thread():
        yield wish
        return
    before = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)}

    def handle(_number: int, _frame: FrameType | None) -> None:
        wish.raised = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    for number in before:
        signal.signal(number, handle)
    try:
        yield wish
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
