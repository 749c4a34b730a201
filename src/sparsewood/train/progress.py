"""What a person sees of a run while it trains."""

import sys
import time
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from sparsewood.tasks.certificate import Certificates
from sparsewood.tasks.metrics import Metric, TreeStatistics

_REFRESH = 0.2  # seconds between two updates of the bar


class Progress:
    """Says nothing. The other ways of showing progress fill in these methods."""

    def note(self, text: str) -> None:
        """Something to know that is no step and no epoch."""

    def start_epoch(self, epoch: int, done: int, steps: int) -> None:
        """Epoch `epoch` begins, or goes on after `done` of its `steps` steps."""

    def step(self, step: int, values: "Values") -> None:
        """`step` steps of the epoch are done; `values()` are the metrics so far."""

    def end_epoch(self, record: dict[str, Any]) -> None:
        """An epoch is over; `record` is its line of metrics."""

    def close(self) -> None:
        """Training is over, for good or for bad."""


class Values:
    """Metrics so far, worked out only when somebody looks."""

    def __init__(
        self, metric: Metric, trees: TreeStatistics, sentences: int, seconds: float
    ) -> None:
        self._metrics, self._rate = (metric, trees), sentences / max(seconds, 1e-9)

    def __call__(self) -> dict[str, float]:
        values = {k: v for metric in self._metrics for k, v in metric.values().items()}
        return {**values, "sentences_per_second": self._rate}


class Lines(Progress):
    """One plain line for each epoch."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file

    def note(self, text: str) -> None:
        print(text, file=self._file or sys.stderr, flush=True)

    def end_epoch(self, record: dict[str, Any]) -> None:
        self.note(describe(record))


class Bars(Progress):
    """A bar over the steps of the epoch, and a line for each epoch that is over."""

    def __init__(self, console: Console | None = None) -> None:
        self._bar = Bar(
            TextColumn("epoch {task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[told]}"),
            TimeRemainingColumn(),
            console=console or Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=None, told="", visible=False)
        self._shown = 0.0

    def note(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)

    def start_epoch(self, epoch: int, done: int, steps: int) -> None:
        self._bar.start()
        self._bar.reset(
            self._task, description=str(epoch), total=steps, completed=done, told="", visible=True
        )

    def step(self, step: int, values: Values) -> None:
        if time.monotonic() - self._shown < _REFRESH:
            return
        self._shown = time.monotonic()
        self._bar.update(self._task, completed=step, told=_brief(values()))

    def end_epoch(self, record: dict[str, Any]) -> None:
        self.note(describe(record))

    def close(self) -> None:
        self._bar.stop()


def automatic() -> Progress:
    """Bars on a terminal, lines elsewhere."""
    return Bars() if sys.stderr.isatty() else Lines()


def describe(record: dict[str, Any]) -> str:
    """The line of an epoch."""
    train = _brief({**record["train"], "sentences_per_second": record["sentences_per_second"]})
    star = " *" if record["best"] else ""
    return (
        f"epoch {record['epoch']}: {train} | validation {_brief(record['validation'])} "
        f"| lr {record['lr']:.3g}, {record['seconds']:.1f} s{star}"
    )


_FORMATS = {
    "loss": "loss {:.4f}",
    "accuracy": "accuracy {:.2f}",
    "median_rank": "median rank {:.1f}",
    "accuracy_10": "at 10 {:.1f}",
    "support": "trees {:.2f}",
    "single": "one tree {:.0f} %",
    "unknown": "unknown words {:.1f} %",
    "sentences_per_second": "{:.0f} sentences/s",
}


def _brief(values: dict[str, Any]) -> str:
    told = [form.format(values[key]) for key, form in _FORMATS.items() if key in values]
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
