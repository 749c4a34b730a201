"""The model of a run on its validation and test splits, for as long as nobody asks to stop."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch

from sparsewood.lab.data.batches import Batches
from sparsewood.lab.run.config import TrainingConfig
from sparsewood.lab.run.evaluate import Guard, evaluate, gallery, outputs
from sparsewood.lab.run.interrupt import Abandoned, StopWish, TrainingInterrupted
from sparsewood.lab.run.outcomes import Gathered
from sparsewood.lab.run.progress import Progress
from sparsewood.lab.run.temperature import FACTORS, TemperatureSearch, temperature_search
from sparsewood.lab.tasks.task import Model


@dataclass(frozen=True)
class Evaluator:
    """Says what the model is worth as it is when asked.

    Attributes:
        model: on `device`.
        batches: of validation and of each test.
        config: of training, for its precision and whether temperatures are tried.
        device: of the forward pass.
        stop: a signal ends the work at hand, which changes nothing.
        on_stop: what to tell then.
        progress: what shows the work.

    Every method raises TrainingInterrupted when a signal has come.
    """

    model: Model
    batches: Mapping[str, Batches]
    config: TrainingConfig
    device: torch.device
    stop: StopWish
    on_stop: Callable[[], str]
    progress: Progress

    def evaluate(self, split: str, gathered: Gathered | None = None) -> dict[str, Any]:
        """The metrics on a split; `gathered` takes the outcomes of its examples."""
        batches = self.batches[split]
        return evaluate(
            self.model,
            batches,
            self.device,
            self.config.precision,
            gathered=gathered,
            guard=self._shown(split, len(batches.order())),
        )

    def search(self) -> TemperatureSearch | None:
        """What validation says of each temperature; None where there is none to choose."""
        if not self.config.temperatures or self.model.temperature is None:
            return None
        batches, precision = self.batches["validation"], self.config.precision
        self.progress.note(
            f"choosing the temperature: {len(FACTORS)} are tried on the "
            f"{len(batches.split.examples):,} examples of validation (--no-temperatures skips this)"
        )
        guard = self._shown("temperatures", len(FACTORS) * len(batches.order()))
        return temperature_search(
            self.model,
            lambda: outputs(self.model, batches.epoch(), self.device, precision, guard=guard),
        )

    def gallery(self) -> list[dict[str, Any]]:
        """Examples of validation with their trees."""
        split = self.batches["validation"].split
        return gallery(self.model, split, device=self.device, guard=self._guard)

    def _shown(self, name: str, batches: int) -> Guard:
        """A guard for `batches` batches that shows how far they are."""
        self.progress.start_work(name, batches)
        done = count(1)

        @contextmanager
        def guard() -> Iterator[None]:
            with self._guard():
                yield
            self.progress.work(next(done))

        return guard

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            with self.stop.abandonable():
                yield
        except Abandoned:
            raise TrainingInterrupted(self.on_stop()) from None
