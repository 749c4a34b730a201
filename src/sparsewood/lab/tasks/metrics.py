"""What is measured of a model: sums over batches that can be merged across processes."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor

from sparsewood._support import sum_by_instance
from sparsewood.posterior import Posterior
from sparsewood.sparse_posterior import certificate_of
from sparsewood.status import Status


@dataclass(frozen=True)
class Output:
    """What a model says of a batch.

    Attributes:
        loss: (B,) of each example; None where a target is unknown.
        prediction: (B, labels) the probability of each label, or (B, d) unit vectors.
        posteriors: over the trees of each side.
    """

    loss: Tensor | None
    prediction: Tensor
    posteriors: tuple[Posterior, ...]


def count_status(posterior: Posterior, *codes: Status) -> int:
    """How many instances ended in one of these ways; none where nothing had to be solved."""
    found = certificate_of(posterior)
    return 0 if found is None else sum(int((found.status == code).sum()) for code in codes)


@dataclass
class Metric(ABC):
    """Adds up what is said of batch after batch."""

    @abstractmethod
    def add(self, output: Output, batch: Any) -> None:
        """Take one more batch into account."""

    def merge(self, other: "Metric") -> None:
        """Take into account what another process has seen: all fields are sums."""
        if type(other) is not type(self):
            raise TypeError(f"merge: expected {type(self).__name__}, got {type(other).__name__}")
        for sums in fields(self):
            total = getattr(self, sums.name) + getattr(other, sums.name)
            setattr(self, sums.name, total)

    @abstractmethod
    def values(self) -> dict[str, float]:
        """The metric by name; empty when nothing was added."""


@dataclass
class LossMetric(Metric):
    """The mean loss."""

    count: int = 0
    loss: float = 0.0

    def add(self, output: Output, batch: Any) -> None:
        assert output.loss is not None, "a metric needs targets"
        self.count += batch.units
        self.loss += float(output.loss.detach().double().sum())

    def values(self) -> dict[str, float]:
        return {"loss": self.loss / self.count} if self.count else {}


@dataclass
class Accuracy(LossMetric):
    """The mean loss, and how often the likeliest label is right.

    Values: `accuracy` is the share of examples whose likeliest label is right, `macro_f1` the mean
    over labels of F1 = 2 TP / (2 TP + FP + FN), both in percent. Labels that are neither right nor
    predicted anywhere have no F1 and do not count.

    Attributes:
        confusion: how many examples have this label and are predicted to have that one.
    """

    confusion: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, output: Output, batch: Any) -> None:
        super().add(output, batch)
        predicted = output.prediction.argmax(-1).tolist()
        self.confusion.update(zip(batch.targets.tolist(), predicted, strict=True))

    def values(self) -> dict[str, float]:
        if not self.count:
            return {}
        right: Counter[int] = Counter()
        seen: Counter[int] = Counter()  # as the right label or as the predicted one: 2 TP + FP + FN
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
        """`confusion` by name, without zeros: {right label: {predicted label: examples}}."""
        named: dict[str, dict[str, int]] = {}
        for (target, predicted), n in sorted(self.confusion.items()):
            named.setdefault(labels[target], {})[labels[predicted]] = n
        return named


@dataclass
class Ranks(LossMetric):
    """Where the right word stands among all candidates, 1 being the best.

    Attributes:
        ranks: of each example.
    """

    ranks: list[int] = field(default_factory=list)

    def extend(self, loss: Tensor, ranks: Tensor) -> None:
        """Take examples with (B,) losses and ranks into account."""
        self.count += len(ranks)
        self.loss += float(loss.detach().double().sum())
        self.ranks += ranks.tolist()

    def values(self) -> dict[str, float]:
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
    """What the posteriors over trees look like, sentence by sentence.

    Values: `support` is the mean number of trees, `single` the percentage of sentences with one
    tree, `flat` the mean probability of the flat tree in percent, `chain` the share of the arcs
    between words of the likeliest trees that go to the next word, or to the one before, whichever
    is higher. Where trees are solved for:
    `unconverged` is the number of sentences whose certificate is missing, `capped` the number of
    those that a cap keeps it from. Where heads are known: `agreement` is the mean probability of
    their arcs and `attachment` the share of words whose head in the likeliest tree is the known
    one, both in percent of all words; `attachment_without_brackets` is the latter in percent of
    the words that are scored, where some are not: of list operations, all but the brackets.

    Attachment is the precision and the recall of edges at once, those from the root among them:
    every word has one edge in the likeliest tree and one in the known one.
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
        """Take the sentences of `posterior` into account, whose heads (B, n) may be known.

        `scored` (B, n) says which words' heads mean something, if not all.
        """
        self.sizes.update(posterior.sizes.tolist())
        self.solved_for += count_status(posterior, *Status)
        self.unconverged += count_status(posterior, Status.CAPPED, Status.STALLED)
        self.capped += count_status(posterior, Status.CAPPED)
        weights = posterior.weights.detach().double()
        flat = (posterior.structures <= 0).all(-1)
        self.flat += float((weights * flat).sum())
        likeliest = posterior.mode
        words = torch.arange(1, likeliest.shape[-1] + 1, device=likeliest.device)
        below = likeliest > 0
        kinds = (below, likeliest == words + 1, below & (likeliest == words - 1))
        # One transfer: every number that is asked for waits for the device.
        arcs, to_next, to_previous = torch.stack([kind.sum() for kind in kinds]).tolist()
        self.arcs += arcs
        self.to_next += to_next
        self.to_previous += to_previous
        if heads is None:
            return
        heads = heads.to(posterior.structures.device)
        inside = heads >= 0
        self.words += int(inside.sum())
        right = (likeliest == heads) & inside
        self.attached += int(right.sum())
        if scored is not None:
            scored = scored.to(right.device)
            self.scored += int(scored.sum())
            self.scored_attached += int((right & scored).sum())
        same = (posterior.structures == heads[posterior.instance]) & inside[posterior.instance]
        agreed = sum_by_instance(weights * same.sum(-1), posterior.instance, posterior.sizes.shape)
        self.agreement += float(agreed.sum())

    def values(self) -> dict[str, float]:
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
        """How many sentences keep so many trees."""
        return dict(sorted(self.sizes.items()))
