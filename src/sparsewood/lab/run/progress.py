"""The progress of a run: the interface, and its plain form of one line per epoch."""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from sparsewood.lab.tasks.build import MEASURES
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.tasks.metrics import Metric


class Progress:
    """Shows nothing. Subclasses override these methods."""

    def note(self, text: str) -> None:
        """Show a remark."""

    def start_run(self, folder: Path) -> None:
        """One of several runs is started or resumed."""

    def begin(self, folder: Path, done: int, epochs: int, seconds: float | None = None) -> None:
        """A run has loaded its data; `done` of at most `epochs` epochs are complete.

        At most `seconds` of training are left, if there is a limit.
        """

    def start_epoch(self, epoch: int, done: int, steps: int, stage: int | None = None) -> None:
        """Epoch `epoch` starts, or resumes after `done` of its `steps` steps.

        An epoch of a `stage` has only sentences of at most that many words, and is not one of the
        epochs of `begin`.
        """

    def step(self, step: int, values: "Values") -> None:
        """`step` steps of the epoch are done; `values()` are the metrics so far."""

    def end_epoch(self, record: dict[str, Any]) -> None:
        """An epoch is complete; `record` is its entry of metrics."""

    def start_work(self, name: str, batches: int) -> None:
        """The model starts to evaluate `batches` batches, for example "validation"."""

    def work(self, batches: int) -> None:
        """`batches` of them are complete."""

    def finish(self, folder: Path, result: dict[str, Any], *, already: bool = False) -> None:
        """A run is finished; if `already`, it was finished before."""

    def close(self) -> None:
        """Training has ended, with or without an error."""


class Values:
    """The metrics so far, computed on demand."""

    def __init__(self, metrics: Sequence[Metric], sentences: int, seconds: float) -> None:
        self._metrics, self._rate = metrics, sentences / max(seconds, 1e-9)

    def __call__(self) -> dict[str, float]:
        values = {k: v for metric in self._metrics for k, v in metric.values().items()}
        return {**values, "sentences_per_second": self._rate}


class Told(Progress):
    """One line per completed epoch and finished run.

    Args:
        single: there is only one run: its folder is shown at the start, and its result is shown by
            the caller.
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
        if stage is None and self._left is None:  # the duration of stages is unknown
            self._left = TimeLeft(epoch - 1, epoch - 1 + self._ahead, self._seconds)

    def end_epoch(self, record: dict[str, Any]) -> None:
        self.note(describe(record, self._left.told(record["epoch"]) if self._left else ""))

    def finish(self, folder: Path, result: dict[str, Any], *, already: bool = False) -> None:
        if not self._single:
            self.note(f"{'already finished: ' if already else ''}{finished(folder, result)}")
        elif already:
            self.note(f"{folder}: already finished")


class TimeLeft:
    """The maximum time left of a run, estimated from its epochs so far in this process.

    Args:
        done: number of completed epochs.
        epochs: maximum number of epochs; patience may end the run earlier.
        seconds: maximum seconds of training, if limited.
    """

    def __init__(self, done: float, epochs: int, seconds: float | None = None) -> None:
        self._done, self._epochs, self._start = done, epochs, time.monotonic()
        self._seconds = seconds

    def told(self, place: float) -> str:
        """The time left after `place` epochs, possibly fractional; empty if unknown."""
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
    """One plain line per epoch."""

    def __init__(self, file: TextIO | None = None, *, single: bool = False) -> None:
        super().__init__(single=single)
        self._file = file

    def note(self, text: str) -> None:
        print(text, file=self._file or sys.stderr, flush=True)


def describe(record: dict[str, Any], left: str = "") -> str:
    """The line of an epoch, with the maximum time `left`."""
    train = brief({**record["train"], "sentences_per_second": record["sentences_per_second"]})
    rest = f", at most {left} left" * bool(left) + ", best so far" * record["best"]
    name = named(record["epoch"], record.get("stage"))
    return (
        f"epoch {name}: {train} | validation {brief(record['validation'])} "
        f"| lr {record['lr']:.3g}, {record['seconds']:.1f} s{rest}"
    )


def named(epoch: int, stage: int | None) -> str:
    """The name of an epoch, with its stage."""
    return f"{epoch}" if stage is None else f"{epoch}, at most {stage} words"


_FORMATS = {
    **{name: measure.brief for name, measure in MEASURES.items() if measure.brief},
    "unknown": "unknown words {:.1f} %",
    "sentences_per_second": "{:.0f} sentences/s",
}


def parts(values: Mapping[str, Any]) -> list[str]:
    """Metrics as texts, the most important first."""
    return [
        form.format(values[key])
        for key, form in _FORMATS.items()
        if key in values and (key != "unknown" or values[key] > 0)
    ]


def brief(values: Mapping[str, Any]) -> str:
    """Metrics as one text, with the certificates of trees."""
    certificates = Certificates.of(values)
    return ", ".join([*parts(values), *([] if certificates is None else [str(certificates)])])


def finished(folder: Path, result: dict[str, Any]) -> str:
    """The line of a finished run."""
    tests = "; ".join(f"{name} {brief(values)}" for name, values in result["tests"].items())
    return (
        f"{folder}: best epoch {result['best_epoch']} of {result['epochs']}, validation "
        f"{brief(result['validation'])}" + (f"; {tests}" if tests else "")
    )
