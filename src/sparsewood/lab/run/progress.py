"""What may be shown of a run while it trains: what it tells, and nothing that shows it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
