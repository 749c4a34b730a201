"""What a person sees of a run while it trains."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from sparsewood.lab.tasks.build import MEASURES
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.tasks.metrics import Metric

_REFRESH = 0.2  # seconds between two updates of the bar


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


class _Told(Progress):
    """A line for each epoch and each run that is over.

    Args:
        single: the run is the only one: its folder is told when it begins, and whoever has asked
            for it tells its result.
    """

    def __init__(self, *, single: bool) -> None:
        self._single = single
        self._ahead = 0
        self._seconds: float | None = None
        self._left: _TimeLeft | None = None

    def start_run(self, folder: Path) -> None:
        self.note(f"{folder}: started")

    def begin(self, folder: Path, done: int, epochs: int, seconds: float | None = None) -> None:
        self._ahead, self._seconds, self._left = epochs - done, seconds, None
        if self._single:
            self.note(f"run: {folder}")

    def start_epoch(self, epoch: int, done: int, steps: int, stage: int | None = None) -> None:
        if stage is None and self._left is None:  # how long stages take is not known before
            self._left = _TimeLeft(epoch - 1, epoch - 1 + self._ahead, self._seconds)

    def end_epoch(self, record: dict[str, Any]) -> None:
        self.note(describe(record, self._left.told(record["epoch"]) if self._left else ""))

    def finish(self, folder: Path, result: dict[str, Any], *, already: bool = False) -> None:
        if not self._single:
            self.note(f"{'already finished: ' if already else ''}{finished(folder, result)}")
        elif already:
            self.note(f"{folder}: already finished")


class _TimeLeft:
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
        """In words, after `place` epochs, a part of the last included; empty where none is left."""
        done, left = place - self._done, self._epochs - place
        if done <= 0 or left <= 0:
            return ""
        taken = time.monotonic() - self._start
        ahead = taken / done * left
        if self._seconds is not None:
            ahead = min(ahead, max(0.0, self._seconds - taken))
        seconds = round(ahead)
        minutes, hours = seconds // 60 % 60, seconds // 3600
        clock = f"{hours}:{minutes:02d}" if hours else f"{minutes}"
        return f"at most {clock}:{seconds % 60:02d} left"


class Lines(_Told):
    """One plain line for each epoch."""

    def __init__(self, file: TextIO | None = None, *, single: bool = False) -> None:
        super().__init__(single=single)
        self._file = file

    def note(self, text: str) -> None:
        print(text, file=self._file or sys.stderr, flush=True)


class Bars(_Told):
    """A bar over the steps of the epoch, and a line for each epoch that is over."""

    def __init__(self, console: Console | None = None, *, single: bool = False) -> None:
        super().__init__(single=single)
        self._bar = Bar(
            TextColumn("epoch {task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[told]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[left]}"),
            console=console or Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=None, told="", left="", visible=False)
        self._shown = 0.0
        self._place, self._steps = 0, 1  # the epochs that are over, the steps of this one

    def note(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)

    def start_epoch(self, epoch: int, done: int, steps: int, stage: int | None = None) -> None:
        super().start_epoch(epoch, done, steps, stage)
        self._place, self._steps = epoch - 1, steps
        self._bar.start()
        self._bar.reset(
            self._task,
            description=_named(epoch, stage),
            total=steps,
            completed=done,
            visible=True,
            told="",
            left="",
        )

    def step(self, step: int, values: Values) -> None:
        if time.monotonic() - self._shown < _REFRESH:
            return
        self._shown = time.monotonic()
        left = self._left.told(self._place + step / self._steps) if self._left else ""
        self._bar.update(self._task, completed=step, told=_brief(values()), left=left)

    def close(self) -> None:
        self._bar.stop()


def automatic(*, single: bool = False) -> Progress:
    """Bars on a terminal, lines elsewhere; `single` if there is one run, whose result is told."""
    return Bars(single=single) if sys.stderr.isatty() else Lines(single=single)


def describe(record: dict[str, Any], left: str = "") -> str:
    """The line of an epoch, with the time that is `left`."""
    train = _brief({**record["train"], "sentences_per_second": record["sentences_per_second"]})
    star = " *" if record["best"] else ""
    name = _named(record["epoch"], record.get("stage"))
    return (
        f"epoch {name}: {train} | validation {_brief(record['validation'])} "
        f"| lr {record['lr']:.3g}, {record['seconds']:.1f} s{left and f', {left}'}{star}"
    )


def _named(epoch: int, stage: int | None) -> str:
    return f"{epoch}" if stage is None else f"{epoch}, at most {stage} words"


_FORMATS = {
    **{name: measure.brief for name, measure in MEASURES.items() if measure.brief},
    "unknown": "unknown words {:.1f} %",
    "sentences_per_second": "{:.0f} sentences/s",
}


def _brief(values: dict[str, Any]) -> str:
    told = [
        form.format(values[key])
        for key, form in _FORMATS.items()
        if key in values and (key != "unknown" or values[key] > 0)
    ]
    certificates = Certificates.of(values)
    if certificates is not None:
        told.append(str(certificates))
    return ", ".join(told)


def finished(folder: Path, result: dict[str, Any]) -> str:
    """The line of a run that is over."""
    tests = "; ".join(f"{name} {_brief(values)}" for name, values in result["tests"].items())
    return (
        f"{folder}: best epoch {result['best_epoch']} of {result['epochs']}, validation "
        f"{_brief(result['validation'])}" + (f"; {tests}" if tests else "")
    )
