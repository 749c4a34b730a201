"""What all kinds of targets have in common."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from sparsewood.lab.data.examples import Corpus, Example, TargetKind
from sparsewood.lab.tasks.measures import MetricSpec
from sparsewood.lab.tasks.metrics import LossMetric
from sparsewood.pairs import PairPosterior
from sparsewood.posterior import Posterior

Loss = Literal["marginal", "expected"]


class Target(nn.Module, ABC):
    """What is said of an example, given scores for each of its structures.

    A model gives scores (T, size), those of every structure h of a batch, or of every pair of
    structures of two sentences, one after the other. The rest is here: the answer, which is an
    expectation over structures, its loss, and what is measured of it.

    Args:
        labels: what there is to be told apart; none of numbers.
    """

    kind: ClassVar[TargetKind]
    metrics: ClassVar[MetricSpec]
    form: ClassVar[str]  # of the numbers of an answer

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__()
        self.labels = list(labels)

    @classmethod
    def check(cls, corpus: Corpus) -> None:
        """Raise ValueError if there is nothing to learn from the training split."""

    @classmethod
    def labels_of(cls, corpus: Corpus) -> list[str]:
        """What there is to be told apart in a corpus."""
        return corpus.labels

    def fit(self, examples: Sequence[Example]) -> None:
        """Remember what answers need to know of the training split."""

    @property
    def size(self) -> int:
        """The scores of a structure."""
        return len(self.labels)

    @abstractmethod
    def encode(self, examples: Sequence[Example]) -> Tensor:
        """The targets (n, ...) of examples, as `Batch.targets` has them."""

    @abstractmethod
    def judge(
        self, scores: Tensor, posterior: Posterior | PairPosterior, targets: Tensor, loss: Loss
    ) -> tuple[Tensor, Tensor | None]:
        """The prediction (B, ...), and the loss (B,), None where a target is unknown.

        Args:
            scores: (T, size), of each structure.
            posterior: over the structures of B examples, T in all.
            targets: (B, ...), as `encode` gives them.
            loss: that of the expected answer, or the expected one of each structure's answer.
        """

    @abstractmethod
    def new_metric(self, *, training: bool) -> LossMetric:
        """An empty metric of the answers; in training, one that costs little."""

    def told(self, metric: LossMetric) -> dict[str, Any]:
        """What is told of a metric beside its numbers."""
        return {}

    def outcomes(self, prediction: Tensor, targets: Tensor) -> Tensor | None:
        """(B,) the criterion of each example; None: its loss."""
        return None

    @abstractmethod
    def answers(self, prediction: Tensor, k: int) -> dict[str, float]:
        """The best answers to one example, `k` of them where there are so many, with numbers."""

    @abstractmethod
    def verdict(self, answers: Mapping[str, float]) -> dict[str, Any]:
        """What it comes to, as JSON has it: the one entry to read where one is wanted."""
