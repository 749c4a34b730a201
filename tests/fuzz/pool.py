"""Distributes cases among processes."""

import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from tests.fuzz.run import Tally, run

_CHUNK = 500  # calls between two reports of a process


def tallies(seed: int, calls: int, jobs: int) -> Iterator[Tally]:
    """The tally of each chunk of cases, in order of completion."""
    chunks = [range(start, min(start + _CHUNK, calls)) for start in range(0, calls, _CHUNK)]
    if jobs <= 1:
        yield from (run(seed, chunk) for chunk in chunks)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn, _ignore_interrupt) as pool:
        chunk_of = {pool.submit(run, seed, chunk): chunk for chunk in chunks}
        open_ = dict(chunk_of)
        try:
            for done in as_completed(chunk_of):
                yield done.result()
                del open_[done]
        except BrokenProcessPool:
            cases = sorted(chunk.start for chunk in open_.values())[:jobs]
            raise SystemExit(f"a process died in the {_CHUNK} cases from one of {cases}") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _ignore_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles Ctrl-C
