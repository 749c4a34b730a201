"""One class per example."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from sparsewood.lab.data.batches import class_targets
from sparsewood.lab.data.examples import Corpus, Example
from sparsewood.lab.tasks.measures import LOSS, TREES, Measure, MetricSpec
from sparsewood.lab.tasks.metrics import Accuracy, LossMetric
from sparsewood.lab.tasks.mixture import mixture_loss
from sparsewood.lab.tasks.targets.base import Loss, Target
from sparsewood.pairs import PairPosterior
from sparsewood.posterior import Posterior

ACCURACY = Measure("accuracy", "accuracy", 2, "%", brief="accuracy {:.2f}", compared=True)
MACRO_F1 = Measure("macro_f1", "macro-F1", 2, "%", narrow="macro-\nF1")


class Classes(Target):
    """p(y | x) = sum_h p(h | x) softmax(scores of h)_y; see `mixture_loss`. The best class is
    predicted.
    """

    kind = "class"
    metrics = MetricSpec(ACCURACY, (LOSS, ACCURACY, MACRO_F1, *TREES))
    form = "{:.1%}"

    @classmethod
    def check(cls, corpus: Corpus) -> None:
        if len(corpus.labels) < 2:
            raise ValueError(f"expected at least two labels, got {corpus.labels}")

    def encode(self, examples: Sequence[Example]) -> Tensor:
        return class_targets(examples, self.labels)

    def evaluate(
        self, scores: Tensor, posterior: Posterior | PairPosterior, targets: Tensor, loss: Loss
    ) -> tuple[Tensor, Tensor | None]:
        return mixture_loss(scores.log_softmax(-1), posterior, targets, loss)

    def new_metric(self, *, training: bool) -> LossMetric:
        return Accuracy()

    def told(self, metric: LossMetric) -> dict[str, Any]:
        return {"confusion": metric.table(self.labels)} if isinstance(metric, Accuracy) else {}

    def outcomes(self, prediction: Tensor, targets: Tensor) -> Tensor:
        return (prediction.argmax(-1) == targets).double() * 100

    def answers(self, prediction: Tensor, k: int) -> dict[str, float]:
        """The `k` most probable classes, with probabilities."""
        p, index = prediction.float().topk(min(k, len(self.labels)))
        return {self.labels[j]: x for j, x in zip(index.tolist(), p.tolist(), strict=True)}

    def verdict(self, answers: Mapping[str, float]) -> dict[str, Any]:
        return {"label": next(iter(answers))}
