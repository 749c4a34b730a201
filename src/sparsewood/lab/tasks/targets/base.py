"""The interface of targets."""

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
    """What a model predicts of an example, given scores of each of its structures.

    A model computes scores (T, size) of all structures of a batch, or of all pairs of structures of
    two sentences. The target computes the prediction, an expectation over structures, its loss and
    its metrics.

    Args:
        labels: the names of the labels; empty for numbers.
    """

    kind: ClassVar[TargetKind]
    metrics: ClassVar[MetricSpec]
    form: ClassVar[str]  # format of the numbers in answers

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__()
        self.labels = list(labels)

    @classmethod
    def check(cls, corpus: Corpus) -> None:
        """Raise ValueError if there is nothing to learn from the training split."""

    @classmethod
    def labels_of(cls, corpus: Corpus) -> list[str]:
        """The names of the labels of a corpus."""
        return corpus.labels

    def fit(self, examples: Sequence[Example]) -> None:
        """Store statistics of the training split that predictions need."""

    @property
    def size(self) -> int:
        """The number of scores per structure."""
        return len(self.labels)

    @abstractmethod
    def encode(self, examples: Sequence[Example]) -> Tensor:
        """The targets (n, ...) of examples, as in `Batch.targets`."""

    @abstractmethod
    def evaluate(
        self, scores: Tensor, posterior: Posterior | PairPosterior, targets: Tensor, loss: Loss
    ) -> tuple[Tensor, Tensor | None]:
        """The prediction (B, ...) and the loss (B,); the loss is None if a target is unknown.

        Args:
            scores: (T, size) the scores of each structure.
            posterior: the posterior over the structures of B examples, T in all.
            targets: (B, ...) as returned by `encode`.
            loss: "marginal", the loss of the expected prediction, or "expected", the expected loss
                of each structure's prediction.
        """

    @abstractmethod
    def new_metric(self, *, training: bool) -> LossMetric:
        """An empty metric of the predictions; in training, a cheap one."""

    def told(self, metric: LossMetric) -> dict[str, Any]:
        """Results of a metric other than numbers."""
        return {}

    def outcomes(self, prediction: Tensor, targets: Tensor) -> Tensor | None:
        """(B,) the criterion of each example; None if that is its loss."""
        return None

    @abstractmethod
    def answers(self, prediction: Tensor, k: int) -> dict[str, float]:
        """The best answers to one example, at most `k`, with numbers."""

    @abstractmethod
    def verdict(self, answers: Mapping[str, float]) -> dict[str, Any]:
        """The prediction in `answers` as JSON: an entry "label", "labels" or "number"."""
