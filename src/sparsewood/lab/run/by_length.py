"""Metrics of tests by length: examples in bins by their number of words or operators."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from sparsewood.lab.data.examples import Corpus, Example
from sparsewood.lab.data.sources import Source
from sparsewood.lab.tasks.metrics import Metric
from sparsewood.lab.tasks.task import Model

Unit = Literal["words", "operators"]
_BINS = 6  # default number of bins


@dataclass(frozen=True)
class Bins:
    """Bins of examples by the length of their longest sentence.

    Attributes:
        unit: unit of length: words, or operators of list operations or logic.
        ends: greatest length of each bin, in increasing order. The last bin also holds all longer
            examples.
        training: least and greatest length in training, if known.
        operators: the words that count as operators.
    """

    unit: Unit
    ends: tuple[int, ...]
    training: tuple[int, int] | None = None
    operators: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not self.ends or any(a >= b for a, b in pairwise((-1, *self.ends))):
            raise ValueError(
                f"bins: expected increasing lengths, got {' '.join(map(str, self.ends))}"
            )

    @classmethod
    def of(
        cls,
        source: Source,
        corpus: Corpus,
        *,
        unit: Unit | None = None,
        ends: Sequence[int] = (),
        splits: Sequence[str] | None = None,
    ) -> "Bins":
        """Bins for the tests of a corpus.

        Args:
            source: of the corpus; sets the default unit and ends.
            corpus: as read.
            unit: overrides that of the source.
            ends: override those of the source.
            splits: to choose ends for. Default: all tests.

        Raises:
            ValueError: if the source has no operators to count, or `ends` do not increase.
        """
        unit = unit or ("operators" if source.by_operators else "words")
        if unit == "operators" and not source.operator_words:
            raise ValueError(
                f"by operators: the source {source.name} has no operators; expected words"
            )
        whole = cls(unit, (0,), None, source.operator_words)
        lengths = {name: whole.lengths(split) for name, split in corpus.splits.items()}
        told = sorted(n for name in splits or corpus.tests for n in lengths[name])
        chosen = ends or (source.length_bins if unit == "words" else ()) or _even(told)
        trained = lengths.get("train")
        training = (min(trained), max(trained)) if trained else None
        return cls(unit, tuple(chosen), training, source.operator_words)

    def lengths(self, examples: Iterable[Example]) -> list[int]:
        """The length of each example."""
        if self.unit == "words":
            return [max(len(s.words) for s in e.sentences) for e in examples]
        known = self.operators
        return [max(sum(w in known for w in s.words) for s in e.sentences) for e in examples]

    def cut(self, examples: Iterable[Example]) -> dict[int, list[int]]:
        """The rows of the examples in each bin that is not empty, short bins first."""
        last = len(self.ends) - 1
        found: dict[int, list[int]] = {}
        for row, length in enumerate(self.lengths(examples)):
            place = next((i for i, end in enumerate(self.ends) if length <= end), last)
            found.setdefault(place, []).append(row)
        return dict(sorted(found.items()))


class ByLength:
    """The metrics of a model in each bin, over one split or several."""

    def __init__(self, model: Model, bins: Bins) -> None:
        self.bins = bins
        self._model = model
        self._metrics: dict[int, list[Metric]] = {}
        self._lengths: dict[int, list[int]] = {}

    def add(self, place: int, examples: Sequence[Example], metrics: Sequence[Metric]) -> None:
        """Add the metrics of some examples of bin `place`."""
        if place not in self._metrics:
            self._metrics[place] = self._model.new_metrics()
        for so_far, metric in zip(self._metrics[place], metrics, strict=True):
            so_far.merge(metric)
        self._lengths.setdefault(place, []).extend(self.bins.lengths(examples))

    def to_json(self) -> dict[str, Any]:
        """The unit, the lengths of training, and a dictionary of numbers for each bin.

        These are the least, greatest and mean length of the bin's examples ("from", "to", "mean"),
        their number ("examples"), and their metrics.
        """
        return {
            "unit": self.bins.unit,
            "training": None if self.bins.training is None else list(self.bins.training),
            "bins": [
                _told(self._lengths[place], self._model.measured(self._metrics[place]))
                for place in sorted(self._metrics)
            ],
        }


def bin_name(values: Mapping[str, Any]) -> str:
    """The lengths of a bin: "51-80", or "7"."""
    low, high = values["from"], values["to"]
    return str(low) if low == high else f"{low}-{high}"


def _told(lengths: Sequence[int], measured: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "from": min(lengths),
        "to": max(lengths),
        "mean": sum(lengths) / len(lengths),
        "examples": len(lengths),
        **{name: value for name, value in measured.items() if isinstance(value, int | float)},
    }


def _even(lengths: Sequence[int]) -> tuple[int, ...]:
    """Ends of bins of about equal size for sorted `lengths`; one bin per length if they are few."""
    different = sorted({*lengths} or {0})
    if len(different) <= 2 * _BINS:
        return tuple(different)
    places = (len(lengths) * i // _BINS - 1 for i in range(1, _BINS + 1))
    return tuple(sorted({lengths[place] for place in places}))
