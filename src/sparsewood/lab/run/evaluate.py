"""Evaluation of a model on a split, which a signal can interrupt."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch

from sparsewood.lab._memory import of_sentences, told_if_out_of_memory
from sparsewood.lab.data.batches import Batches
from sparsewood.lab.run.by_length import Bins, ByLength
from sparsewood.lab.run.config import TrainingConfig
from sparsewood.lab.run.interrupt import Abandoned, StopWish, TrainingInterrupted
from sparsewood.lab.run.outcomes import Gathered
from sparsewood.lab.run.progress import Progress
from sparsewood.lab.run.temperature import FACTORS, TemperatureSearch, temperature_search
from sparsewood.lab.tasks.metrics import Output
from sparsewood.lab.tasks.task import Model

Guard = Callable[[], AbstractContextManager[None]]


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """The context in which forward passes run in `precision`."""
    dtype = getattr(torch, precision)
    enabled = precision != "float32"
    return torch.autocast(device.type, dtype if enabled else None, enabled=enabled)


def outputs(
    model: Model,
    batches: Iterable[Any],
    device: torch.device | str = "cpu",
    precision: str = "float32",
    *,
    guard: Guard = nullcontext,
) -> Iterator[tuple[Output, Any]]:
    """The output of the model for each batch, in evaluation mode and at its current temperature.

    Args:
        model: on `device`.
        batches: batches of a split, with or without known targets.
        device, precision: device and precision of the forward pass.
        guard: the context of each batch; may raise to stop.
    """
    device = torch.device(device)
    was_training = model.training
    model.eval()
    try:
        for batch in batches:
            with guard(), torch.no_grad():
                batch = batch.to(device)
                with (
                    told_if_out_of_memory(lambda batch=batch: _told_of(batch)),
                    autocast(device, precision),
                ):
                    output = model(batch)
            yield output, batch
    finally:
        model.train(was_training)


def _told_of(batch: Any) -> str:
    """Describe a batch that is too large."""
    lengths = [side.lengths for side in getattr(batch, "sides", ())] or [batch.lengths]
    longest = max(int(n.max()) for n in lengths)
    told = of_sentences(len(batch), longest)
    return f"evaluating {told}; a smaller --eval-batch needs less"


def evaluate(
    model: Model,
    batches: Batches,
    device: torch.device | str = "cpu",
    precision: str = "float32",
    *,
    gathered: Gathered | None = None,
    by_length: ByLength | None = None,
    guard: Guard = nullcontext,
) -> dict[str, Any]:
    """The metrics of the task, by name.

    Models of trees have "histogram", {trees kept: sentences}, classifiers "confusion", {correct
    label: {predicted label: examples}}. `unknown` is the percentage of unknown words. `gathered`
    takes the outcomes of the examples, `by_length` their metrics by bin; the other arguments are
    those of `outputs`, with known targets.
    """
    split, total = batches.split, model.new_metrics()
    for place, order in _parts(batches, by_length).items():
        metrics = model.new_metrics()
        for output, batch in outputs(
            model, map(split.batch, order), device, precision, guard=guard
        ):
            for metric in metrics:
                metric.add(output, batch)
            if gathered is not None:
                gathered.add(output, batch)
        for whole, metric in zip(total, metrics, strict=True):
            whole.merge(metric)
        if by_length is not None:
            rows = (row for batch in order for row in batch)
            by_length.add(place, [split.examples[row] for row in rows], metrics)
    words = [w for e in split.examples for s in e.sentences for w in s.words]
    unknown = 100.0 * len(model.unknown(words)) / len(words)
    return {**model.measured(total), "unknown": unknown}


def _parts(batches: Batches, by_length: ByLength | None) -> dict[int, list[list[int]]]:
    """The rows of the batches of each bin; all under 0 without bins."""
    if by_length is None:
        return {0: batches.order()}
    cut = by_length.bins.cut(batches.split.examples)
    return {place: batches.sorted_by_length(torch.tensor(rows)) for place, rows in cut.items()}


@dataclass(frozen=True)
class Evaluator:
    """Evaluates the current model.

    Attributes:
        model: on `device`.
        batches: batches of validation and of each test.
        config: options of training, for the precision and the temperature search.
        device: device of the forward pass.
        stop: a signal ends the evaluation, which has no side effects.
        on_stop: the message then.
        progress: shows the progress.
        bins: of the tests, for their metrics by length.

    All methods raise TrainingInterrupted after a signal.
    """

    model: Model
    batches: Mapping[str, Batches]
    config: TrainingConfig
    device: torch.device
    stop: StopWish
    on_stop: Callable[[], str]
    progress: Progress
    bins: Bins

    def evaluate(
        self, split: str, gathered: Gathered | None = None, by_length: ByLength | None = None
    ) -> dict[str, Any]:
        """The metrics on a split.

        `gathered` takes the outcomes of its examples, `by_length` the metrics by bin.
        """
        batches = self.batches[split]
        return evaluate(
            self.model,
            batches,
            self.device,
            self.config.precision,
            gathered=gathered,
            by_length=by_length,
            guard=self._shown(split, sum(map(len, _parts(batches, by_length).values()))),
        )

    def search(self) -> TemperatureSearch | None:
        """The search for a temperature on validation; None if there is nothing to choose."""
        if not self.config.temperatures or self.model.temperature is None:
            return None
        batches, precision = self.batches["validation"], self.config.precision
        self.progress.note(
            f"choosing the temperature: trying {len(FACTORS)} on the "
            f"{len(batches.split.examples):,} validation examples (--no-temperatures skips this)"
        )
        guard = self._shown("temperatures", len(FACTORS) * len(batches.order()))
        return temperature_search(
            self.model,
            lambda: outputs(self.model, batches.epoch(), self.device, precision, guard=guard),
        )

    def _shown(self, name: str, batches: int) -> Guard:
        """A guard that shows the progress over `batches` batches."""
        self.progress.start_work(name, batches)
        done = count(1)

        @contextmanager
        def guard() -> Iterator[None]:
            with self.guard():
                yield
            self.progress.work(next(done))

        return guard

    @contextmanager
    def guard(self) -> Iterator[None]:
        """The context of work that a signal may interrupt."""
        try:
            with self.stop.abandonable():
                yield
        except Abandoned:
            raise TrainingInterrupted(self.on_stop()) from None
