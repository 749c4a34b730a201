"""One number per example: regression."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparsewood._internal.host import host_copy
from sparsewood.lab.data.examples import Corpus, Example
from sparsewood.lab.data.labels import is_finite
from sparsewood.lab.tasks.measures import LOSS, TREES, Measure, MetricSpec
from sparsewood.lab.tasks.metrics import LossMetric, Output, total_loss
from sparsewood.lab.tasks.targets.base import Loss, Target
from sparsewood.pairs import PairPosterior
from sparsewood.posterior import Posterior

_MSE = Measure(
    *("mse", "MSE", 4),
    higher_is_better=False,
    brief="MSE {:.4g}",
    compared=True,
    any_size=True,
)
_MAE = Measure("mae", "MAE", 4, higher_is_better=False, any_size=True)
_PEARSON = Measure("pearson", "Pearson", 4, brief="Pearson {:.4f}", compared=True)
_SPEARMAN = Measure("spearman", "Spearman", 4)


class Numbers(Target):
    """A number: the expectation of the scores of the structures.

    With z_h the score of structure h, and the mean and deviation of the training split,

        answer      mean + deviation r,      r = sum_h p(h | x) z_h
        marginal    (y' - r)^2,              y' = (y - mean) / deviation
        expected    sum_h p(h | x) (y' - z_h)^2

    so that losses do not depend on the unit of the numbers, and predictions are in that unit. The
    second loss is the first plus the variance of z_h over structures.

    The validation criterion is the mean squared error: unlike a correlation, it is a mean over
    examples, so that models can be compared per example, and it depends on offset and scale.
    """

    kind = "number"
    metrics = MetricSpec(_MSE, (LOSS, _MSE, _MAE, _PEARSON, _SPEARMAN, *TREES))
    form = "{:.4g}"

    mean: Tensor
    deviation: Tensor

    def __init__(self, labels: Sequence[str] = ()) -> None:
        super().__init__(labels)
        self.register_buffer("mean", torch.tensor(0.0, dtype=torch.float64))
        self.register_buffer("deviation", torch.tensor(1.0, dtype=torch.float64))

    @classmethod
    def check(cls, corpus: Corpus) -> None:
        numbers = {float(example.label) for example in corpus.splits["train"] if example.label}
        if len(numbers) < 2:
            raise ValueError(
                f"expected at least two different numbers, got {sorted(numbers)} in training"
            )

    @classmethod
    def labels_of(cls, corpus: Corpus) -> list[str]:
        return []

    def fit(self, examples: Sequence[Example]) -> None:
        known = self.encode([example for example in examples if example.label])
        self.mean.copy_(known.mean())
        self.deviation.copy_(known.std(correction=0))

    @property
    def size(self) -> int:
        return 1

    def encode(self, examples: Sequence[Example]) -> Tensor:
        """(n,) float64, NaN if the number is unknown."""
        for row, example in enumerate(examples):
            if example.label and not is_finite(example.label):
                raise ValueError(f"example {row}: expected a number, got {example.label!r}")
        numbers = [float(example.label or "nan") for example in examples]
        return torch.tensor(numbers, dtype=torch.float64)

    def evaluate(
        self, scores: Tensor, posterior: Posterior | PairPosterior, targets: Tensor, loss: Loss
    ) -> tuple[Tensor, Tensor | None]:
        """The prediction (B,) is float64: float32 is too coarse for numbers with a large mean."""
        each = scores.squeeze(-1)
        expected = posterior.expect(each)
        answer = self.mean + self.deviation * expected.double()
        if host_copy(targets).isnan().any():
            return answer, None
        wanted = ((targets - self.mean) / self.deviation).to(each.dtype)
        if loss == "expected":
            return answer, posterior.expect((wanted[posterior.instance] - each) ** 2)
        return answer, (wanted - expected) ** 2

    def new_metric(self, *, training: bool) -> LossMetric:
        return LossMetric() if training else NumberErrors()

    def outcomes(self, prediction: Tensor, targets: Tensor) -> Tensor:
        """(B,) squared errors, in the unit of the data."""
        return (prediction.double() - targets) ** 2

    def answers(self, prediction: Tensor, k: int) -> dict[str, float]:
        """The predicted number."""
        return {"number": float(prediction)}

    def verdict(self, answers: Mapping[str, float]) -> dict[str, Any]:
        return dict(answers)


@dataclass
class NumberErrors(LossMetric):
    """The mean loss, errors and correlations of predicted numbers.

    Values: `mse` and `mae`, the mean squared and the mean absolute error in the unit of the data;
        `pearson` and `spearman`, the correlations of numbers and of their ranks; ties have their
        mean rank. A correlation is 0 if either side is constant.

    Attributes:
        targets: the target of each example; ranks need all of them.
        predictions: the prediction of each example.
    """

    targets: list[float] = field(default_factory=list)
    predictions: list[float] = field(default_factory=list)

    def add(self, output: Output, batch: Any) -> None:
        self.count += batch.units
        self.later(total_loss(output), batch.targets, output.prediction)

    def take(self, numbers: list[float]) -> None:
        super().take(numbers)
        half = len(numbers) // 2
        self.targets += numbers[1 : 1 + half]
        self.predictions += numbers[1 + half :]

    def values(self) -> dict[str, float]:
        self.settle()
        if not self.count:
            return {}
        right, said = numpy.array(self.targets), numpy.array(self.predictions)
        error = said - right
        return {
            **super().values(),
            "mse": float((error**2).mean()),
            "mae": float(numpy.abs(error).mean()),
            "pearson": correlation(right, said),
            "spearman": correlation(mean_ranks(right), mean_ranks(said)),
        }


def correlation(x: NDArray[numpy.float64], y: NDArray[numpy.float64]) -> float:
    """Pearson's correlation; 0 if x or y is constant, where it is undefined."""
    if x.min() == x.max() or y.min() == y.max():
        return 0.0
    # Scaled so that squares neither underflow nor overflow.
    x, y = (z / numpy.abs(z).max() for z in (x - x.mean(), y - y.mean()))
    return float(numpy.clip((x @ y) / numpy.sqrt((x @ x) * (y @ y)), -1, 1))


def mean_ranks(x: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """The ranks from 1 on; ties have their mean rank."""
    _, place, counts = numpy.unique(x, return_inverse=True, return_counts=True)
    return (counts.cumsum() - (counts - 1) / 2)[place]
