"""What a run tells while it trains, and its plainest form: a line for each epoch."""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from sparsewood.lab.tasks.build import MEASURES
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.tasks.metrics import Metric


class Progress:
    """Says nothing. The other ways of showing progress fill in these methods."""

    def note(self, text: str) -> None:
        """Something to know that is no step and no epoch."""

    def start_run(self, folder: Path) -> None:
        """One of several runs is begun, or gone on with."""

    def begin(self, folder: Path, done: int, epochs: int, seconds: float | None = None) -> None:
        """A run has its folder and its data; `done` of at most `epochs` epochs are over.

        At most `seconds` of training are left, if given.
        """

    def start_epoch(self, epoch: int, done: int, steps: int, stage: int | None = None) -> None:
        """Epoch `epoch` begins, or goes on after `done` of its `steps` steps.

        That of a `stage` has only sentences of so many words, and does not count among the epochs
        that `begin` tells of.
        """

    def step(self, step: int, values: "Values") -> None:
        """`step` steps of the epoch are done; `values()` are the metrics so far."""

    def end_epoch(self, record: dict[str, Any]) -> None:
        """An epoch is over; `record` is its line of metrics."""

    def start_work(self, name: str, batches: int) -> None:
        """The model is about to read `batches` batches without learning: "validation", say."""

    def work(self, batches: int) -> None:
        """`batches` of them are done."""

    def finish(self, folder: Path, result: dict[str, Any], *, already: bool = False) -> None:
        """A run is over; if `already`, it was before it was asked for."""

    def close(self) -> None:
        """Training is over, for good or for bad."""


class Values:
    """Metrics so far, worked out only when somebody looks."""

    def __init__(self, metrics: Sequence[Metric], sentences: int, seconds: float) -> None:
        self._metrics, self._rate = metrics, sentences / max(seconds, 1e-9)

    def __call__(self) -> dict[str, float]:
        values = {k: v for metric in self._metrics for k, v in metric.values().items()}
        return {**values, "sentences_per_second": self._rate}


class Told(Progress):
    """A line for each epoch and each run that is over.

    Args:
        single: the run is the only one: its folder is told when it begins, and whoever has asked
            for it tells its result.
    """

    def __init__(self, *, single: bool) -> None:
        self._single = single
        self._ahead = 0
        self._seconds: float | None = None
        self._left: TimeLeft | None = None

    def start_run(self, folder: Path) -> None:
        self.note(f"{folder}: started")

    def begin(self, folder: Path, done: int, epochs: int, seconds: float | None = None) -> None:
        self._ahead, self._seconds, self._left = epochs - done, seconds, None
        if self._single:
            self.note(f"run: {folder}")

    def start_epoch(self, epoch: int, done: int, steps: int, stage: int | None = None) -> None:
        if stage is None and self._left is None:  # how long stages take is not known before
            self._left = TimeLeft(epoch - 1, epoch - 1 + self._ahead, self._seconds)

    def end_epoch(self, record: dict[str, Any]) -> None:
        self.note(describe(record, self._left.told(record["epoch"]) if self._left else ""))

    def finish(self, folder: Path, result: dict[str, Any], *, already: bool = False) -> None:
        if not self._single:
            self.note(f"{'already finished: ' if already else ''}{finished(folder, result)}")
        elif already:
            self.note(f"{folder}: already finished")


class TimeLeft:
    """How long a run may go on, by the time its epochs have taken so far in this process.

    Args:
        done: the epochs that are over already.
        epochs: the most there will be; patience may end the run sooner.
        seconds: the most that training may take, if that is limited.
    """

    def __init__(self, done: float, epochs: int, seconds: float | None = None) -> None:
        self._done, self._epochs, self._start = done, epochs, time.monotonic()
        self._seconds = seconds

    def told(self, place: float) -> str:
        """The time left after `place` epochs, not always whole ones; empty where there is none."""
        done, left = place - self._done, self._epochs - place
        if done <= 0 or left <= 0:
            return ""
        taken = time.monotonic() - self._start
        ahead = taken / done * left
        if self._seconds is not None:
            ahead = min(ahead, max(0.0, self._seconds - taken))
        return clock(ahead)


def clock(seconds: float) -> str:
    """Seconds as 0:07, 9:30 or 1:12:00."""
    whole = round(seconds)
    minutes, hours = whole // 60 % 60, whole // 3600
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


class Lines(Told):
    """One plain line for each epoch."""

    def __init__(self, file: TextIO | None = None, *, single: bool = False) -> None:
        super().__init__(single=single)
        self._file = file

    def note(self, text: str) -> None:
        print(text, file=self._file or sys.stderr, flush=True)


def describe(record: dict[str, Any], left: str = "") -> str:
    """The line of an epoch; at most the time `left`, a clock, is left of the run."""
    train = brief({**record["train"], "sentences_per_second": record["sentences_per_second"]})
    rest = f", at most {left} left" * bool(left) + ", best so far" * record["best"]
    name = named(record["epoch"], record.get("stage"))
    return (
        f"epoch {name}: {train} | validation {brief(record['validation'])} "
        f"| lr {record['lr']:.3g}, {record['seconds']:.1f} s{rest}"
    )


def named(epoch: int, stage: int | None) -> str:
    """An epoch, and what it is the stage of."""
    return f"{epoch}" if stage is None else f"{epoch}, at most {stage} words"


_FORMATS = {
    **{name: measure.brief for name, measure in MEASURES.items() if measure.brief},
    "unknown": "unknown words {:.1f} %",
    "sentences_per_second": "{:.0f} sentences/s",
}


def parts(values: Mapping[str, Any]) -> list[str]:
    """Metrics in words, what matters most first."""
    return [
        form.format(values[key])
        for key, form in _FORMATS.items()
        if key in values and (key != "unknown" or values[key] > 0)
    ]


def brief(values: Mapping[str, Any]) -> str:
    """Metrics in words, with the certificates of trees."""
    certificates = Certificates.of(values)
    return ", ".join([*parts(values), *([] if certificates is None else [str(certificates)])])


def finished(folder: Path, result: dict[str, Any]) -> str:
    """The line of a run that is over."""
    tests = "; ".join(f"{name} {brief(values)}" for name, values in result["tests"].items())
    return (
        f"{folder}: best epoch {result['best_epoch']} of {result['epochs']}, validation "
        f"{brief(result['validation'])}" + (f"; {tests}" if tests else "")
    )
