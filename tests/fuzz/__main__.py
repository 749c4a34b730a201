"""`python -m tests.fuzz --calls N --seed S [--jobs J]`, or `--case I` for one case again."""

import argparse
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.fuzz.pool import tallies
from tests.fuzz.run import Tally, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--case", type=int, help="this one alone, with a reproducer")
    args = parser.parse_args()
    if args.case is not None:
        return _again(args.seed, args.case)
    tally = Tally()
    console = Console(stderr=True)
    try:
        with _bar(console) as bar:
            task = bar.add_task("", total=args.calls, failures=0)
            for done in tallies(args.seed, args.calls, args.jobs):
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


def _again(seed: int, case: int) -> int:
    tally = run(seed, [case])
    print(tally.report(seed))
    for failures in tally.examples.values():
        for failure in failures:
            print(f"\n{failure.snippet}\n\n{failure.detail}")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
