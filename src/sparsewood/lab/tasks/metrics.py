"""Metrics: sums over batches that can be merged across processes."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from sparsewood.posterior import Posterior
from sparsewood.sparse_posterior import SparsePosterior, certificate_of
from sparsewood.status import Status


@dataclass(frozen=True)
class Output:
    """The output of a model for a batch.

    Attributes:
        loss: (B,) the loss of each example; None if a target is unknown.
        prediction: (B, labels) the probability of each label, (B,) numbers, or (B, d) unit vectors.
        posteriors: the posteriors over the trees of each side.
        attention: (B, n, m) the attention between the words of two sides, if there is any.
    """

    loss: Tensor | None
    prediction: Tensor
    posteriors: tuple[Posterior, ...]
    attention: Tensor | None = None


def total_loss(output: Output) -> Tensor:
    """() float64, the sum over the examples."""
    assert output.loss is not None, "a metric needs targets"
    return output.loss.detach().double().sum()


def count_status(posterior: Posterior, *codes: Status) -> int:
    """The number of instances with one of these statuses; 0 if nothing was solved."""
    found = certificate_of(posterior)
    return 0 if found is None else sum(int((found.status == code).sum()) for code in codes)


@dataclass
class Metric(ABC):
    """Accumulates values over batches.

    The values of a batch on a GPU stay there until they are read: reading them in every step would
    make the host wait for the device.
    """

    def __post_init__(self) -> None:
        self._pending: list[Tensor] = []

    @abstractmethod
    def add(self, output: Output, batch: Any) -> None:
        """Add a batch, whose values are passed to `later`."""

    @abstractmethod
    def take(self, numbers: list[float]) -> None:
        """Add the numbers of a batch to the sums."""

    def later(self, *numbers: Tensor) -> None:
        """Pass values of a batch, of any shape, to `take`: now, or when they are read."""
        packed = torch.cat([number.detach().double().flatten() for number in numbers])
        if packed.device.type == "cpu":
            self.take(packed.tolist())
        else:
            self._pending.append(packed)

    def settle(self) -> None:
        """Add the values that are on a device, in one transfer."""
        pending, self._pending = self._pending, []
        if pending:
            numbers = iter(torch.cat(pending).tolist())
            for packed in pending:
                self.take(list(islice(numbers, len(packed))))

    def sums(self) -> dict[str, Any]:
        """The state of the metric, by name."""
        self.settle()
        return {sums.name: getattr(self, sums.name) for sums in fields(self)}

    def merge(self, other: "Metric") -> None:
        """Add the sums of another metric."""
        if type(other) is not type(self):
            raise TypeError(f"merge: expected {type(self).__name__}, got {type(other).__name__}")
        for sums in fields(self):
            total = getattr(self, sums.name) + getattr(other, sums.name)
            setattr(self, sums.name, total)
        self._pending += other._pending

    @abstractmethod
    def values(self) -> dict[str, float]:
        """The values by name; empty if nothing was added."""


@dataclass
class LossMetric(Metric):
    """The mean loss."""

    count: int = 0
    loss: float = 0.0

    def add(self, output: Output, batch: Any) -> None:
        self.count += batch.units
        self.later(total_loss(output))

    def take(self, numbers: list[float]) -> None:
        self.loss += numbers[0]

    def values(self) -> dict[str, float]:
        self.settle()
        return {"loss": self.loss / self.count} if self.count else {}


@dataclass
class Accuracy(LossMetric):
    """The mean loss, accuracy and macro-F1.

    Values: `accuracy` is the share of examples whose most probable label is correct, `macro_f1` the
        mean over labels of F1 = 2 TP / (2 TP + FP + FN), both in percent. Labels that are never
        correct and never predicted have no F1 and are left out.

    Attributes:
        confusion: number of examples by (correct label, predicted label).
    """

    confusion: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, output: Output, batch: Any) -> None:
        self.count += batch.units
        self.later(total_loss(output), batch.targets, output.prediction.argmax(-1))

    def take(self, numbers: list[float]) -> None:
        super().take(numbers)
        labels = [int(number) for number in numbers[1:]]
        half = len(labels) // 2
        self.confusion.update(zip(labels[:half], labels[half:], strict=True))

    def values(self) -> dict[str, float]:
        self.settle()
        if not self.count:
            return {}
        right: Counter[int] = Counter()
        seen: Counter[int] = Counter()  # as the correct or the predicted label: 2 TP + FP + FN
        for (target, predicted), n in self.confusion.items():
            seen[target] += n
            seen[predicted] += n
            right[target] += n if target == predicted else 0
        f1 = [2 * right[label] / n for label, n in seen.items()]
        return {
            **super().values(),
            "accuracy": 100.0 * right.total() / self.count,
            "macro_f1": 100.0 * sum(f1) / len(f1),
        }

    def table(self, labels: Sequence[str]) -> dict[str, dict[str, int]]:
        """`confusion` by name, without zeros: {correct label: {predicted label: examples}}."""
        self.settle()
        named: dict[str, dict[str, int]] = {}
        for (target, predicted), n in sorted(self.confusion.items()):
            named.setdefault(labels[target], {})[labels[predicted]] = n
        return named


@dataclass
class Ranks(LossMetric):
    """The rank of the correct word among all candidates; 1 is the best.

    Attributes:
        ranks: the rank of each example.
    """

    ranks: list[int] = field(default_factory=list)

    def extend(self, loss: Tensor, ranks: Tensor) -> None:
        """Add examples with (B,) losses and ranks."""
        self.count += len(ranks)
        self.later(loss.detach().double().sum(), ranks)

    def take(self, numbers: list[float]) -> None:
        super().take(numbers)
        self.ranks += [int(rank) for rank in numbers[1:]]

    def values(self) -> dict[str, float]:
        self.settle()
        if not self.ranks:
            return super().values()
        ranks = torch.tensor(self.ranks, dtype=torch.float64)
        return {
            **super().values(),
            "median_rank": float(ranks.quantile(0.5)),
            "accuracy_10": 100.0 * float((ranks <= 10).double().mean()),
            "accuracy_100": 100.0 * float((ranks <= 100).double().mean()),
        }


@dataclass
class TreeStatistics(Metric):
    """Statistics of the posteriors over trees.

    Values: `support` is the mean number of trees, `single` the percentage of sentences with one
        tree, `flat` the mean probability of the flat tree in percent, `chain` the share of the arcs
        between words of the most probable trees that go to the next word, or to the previous one,
        whichever is higher. If trees are solved for: `unconverged` is the number of sentences
        without a certificate, `capped` the number of those stopped by a cap or a limit of the
        solver. If heads are known: `agreement` is the mean probability of their arcs and
        `attachment` the share of words whose head in the most probable tree is the known one, both
        in percent of all words; `attachment_without_brackets` is the latter in percent of the words
        that are scored, if some are not: for list operations, all except brackets.

    Attachment is both the precision and the recall of edges, including those from the root: every
    word has one edge in either tree.
    """

    sizes: Counter[int] = field(default_factory=Counter)
    flat: float = 0.0
    arcs: int = 0
    to_next: int = 0
    to_previous: int = 0
    solved_for: int = 0
    unconverged: int = 0
    capped: int = 0
    words: int = 0
    agreement: float = 0.0
    attached: int = 0
    scored: int = 0
    scored_attached: int = 0

    def add(self, output: Output, batch: Any) -> None:
        for posterior, side in zip(output.posteriors, batch.sides, strict=True):
            self.add_posterior(posterior, side.heads, side.scored)

    def add_posterior(
        self, posterior: Posterior, heads: Tensor | None, scored: Tensor | None = None
    ) -> None:
        """Add the sentences of `posterior`, whose heads (B, n) may be known.

        `scored` (B, n) marks the words whose heads are meaningful, if not all are.
        """
        found = certificate_of(posterior)
        self.solved_for += 0 if found is None else len(found)
        self.later(
            *_certificate(found, posterior.weights),
            *_shape(posterior),
            *_attachment(posterior, heads, scored),
            posterior.sizes,
        )

    def take(self, numbers: list[float]) -> None:
        for name, number in zip(_COUNTED, numbers, strict=False):
            sums = getattr(self, name)
            setattr(self, name, sums + type(sums)(number))
        self.sizes.update(int(size) for size in numbers[len(_COUNTED) :])

    def values(self) -> dict[str, float]:
        self.settle()
        count = self.sizes.total()
        if not count:
            return {}
        values = {
            "support": sum(size * n for size, n in self.sizes.items()) / count,
            "single": 100.0 * self.sizes[1] / count,
            "flat": 100.0 * self.flat / count,
            "chain": 100.0 * max(self.to_next, self.to_previous) / max(self.arcs, 1),
        }
        if self.solved_for:
            values |= {"unconverged": float(self.unconverged), "capped": float(self.capped)}
        if self.words:
            values["agreement"] = 100.0 * self.agreement / self.words
            values["attachment"] = 100.0 * self.attached / self.words
        if self.scored:
            share = self.scored_attached / self.scored
            values["attachment_without_brackets"] = 100.0 * share
        return values

    def histogram(self) -> dict[int, int]:
        """The number of sentences by number of trees kept."""
        self.settle()
        return dict(sorted(self.sizes.items()))


# The first arguments of `TreeStatistics.take`, in order; see the three functions below.
_COUNTED = (
    *("unconverged", "capped"),
    *("flat", "arcs", "to_next", "to_previous"),
    *("words", "attached", "agreement", "scored", "scored_attached"),
)


def _certificate(found: SparsePosterior | None, like: Tensor) -> list[Tensor]:
    """The number of sentences without a certificate, and of those stopped by a cap or limit."""
    if found is None:
        return [like.new_zeros(2)]
    status = found.status
    capped = (status == int(Status.CAPPED)) | (status == int(Status.LIMITED))
    return [(status != int(Status.SOLVED)).sum(), capped.sum()]


def _shape(posterior: Posterior) -> list[Tensor]:
    """The weight of flat trees; arcs of the most probable trees, and those of a chain."""
    weights = posterior.weights.detach().double()
    likeliest = posterior.mode
    words = torch.arange(1, likeliest.shape[-1] + 1, device=likeliest.device)
    below = likeliest > 0
    kinds = (below, likeliest == words + 1, below & (likeliest == words - 1))
    flat = (posterior.structures <= 0).all(-1)
    return [(weights * flat).sum(), *(kind.sum() for kind in kinds)]


def _attachment(posterior: Posterior, heads: Tensor | None, scored: Tensor | None) -> list[Tensor]:
    """Words, attached words, probability of known arcs; scored words, of these attached."""
    weights, instance = posterior.weights.detach().double(), posterior.instance
    if heads is None:
        return [weights.new_zeros(5)]
    heads = heads.to(weights.device)
    inside = heads >= 0
    right = (posterior.mode == heads) & inside
    same = (posterior.structures == heads[instance]) & inside[instance]
    numbers = [inside.sum(), right.sum(), (weights * same.sum(-1)).sum()]
    if scored is None:
        return [*numbers, weights.new_zeros(2)]
    scored = scored.to(weights.device)
    return [*numbers, scored.sum(), (right & scored).sum()]
