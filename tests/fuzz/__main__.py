"""`python -m tests.fuzz --calls N --seed S [--jobs J]`, or `--case I` for one case again."""

import argparse
import multiprocessing
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.fuzz.run import Tally, run

_CHUNK = 500  # calls between two reports of a process


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--case", type=int, help="this one alone, with a reproducer")
    args = parser.parse_args()
    if args.case is not None:
        return _again(args.seed, args.case)
    chunks = [
        range(start, min(start + _CHUNK, args.calls)) for start in range(0, args.calls, _CHUNK)
    ]
    tally = Tally()
    console = Console(stderr=True)
    try:
        with _bar(console) as bar:
            task = bar.add_task("", total=args.calls, failures=0)
            for done in _work(args.seed, chunks, args.jobs):
                tally.merge(done)
                failures = sum(tally.failures.values())
                bar.update(task, completed=sum(tally.calls.values()), failures=failures)
    except KeyboardInterrupt:
        console.print("interrupted; so far:")
    print(tally.report(args.seed))
    return 1 if tally.failures else 0


def _bar(console: Console) -> Progress:
    return Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("calls, {task.fields[failures]} failures"),
        TimeRemainingColumn(),
        console=console,
    )


def _work(seed: int, chunks: list[range], jobs: int) -> Iterator[Tally]:
    """The tally of each chunk, in the order in which they are done."""
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process hears Ctrl-C for all


def _again(seed: int, case: int) -> int:
    tally = run(seed, [case])
    print(tally.report(seed))
    for failures in tally.examples.values():
        for failure in failures:
            print(f"\n{failure.snippet}\n\n{failure.detail}")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
