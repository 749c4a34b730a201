"""Sentence classification: a softmax over the vector of each tree."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from sparsewood.lab.data.batches import Batch
from sparsewood.lab.data.examples import Corpus
from sparsewood.lab.tasks.measures import LOSS, TREES, Measure, MetricSpec
from sparsewood.lab.tasks.metrics import Accuracy, LossMetric, Metric, Output
from sparsewood.lab.tasks.mixture import mixture_loss, widened
from sparsewood.lab.tasks.model import TreeModel
from sparsewood.lab.tasks.model_config import ModelConfig
from sparsewood.lab.tasks.task import Task

ACCURACY = Measure("accuracy", "accuracy", 2, "%", brief="accuracy {:.2f}", compared=True)
MACRO_F1 = Measure("macro_f1", "macro-F1", 2, "%", narrow="macro-\nF1")
METRICS = MetricSpec(ACCURACY, (LOSS, ACCURACY, MACRO_F1, *TREES))
PROBABILITIES = "{:.1%}"


class Classifier(TreeModel):
    """A model whose answer is one of a few labels."""

    @classmethod
    def check(cls, corpus: Corpus) -> None:
        if len(corpus.labels) < 2:
            raise ValueError(f"expected at least two labels to tell apart, got {corpus.labels}")

    def new_metric(self, *, training: bool) -> LossMetric:
        return Accuracy()

    def measured(self, metrics: Sequence[Metric]) -> dict[str, Any]:
        found = super().measured(metrics)
        tables = [m.table(self.labels) for m in metrics if isinstance(m, Accuracy)]
        return {**found, "confusion": tables[0]}

    def outcomes(self, output: Output, batch: Batch) -> Tensor:
        return (output.prediction.argmax(-1) == batch.targets).double() * 100


class SentenceClassifier(Classifier):
    """p(y | x) = sum_h p(h | x) softmax(W r(h, x) + b)_y, with r(h, x) the vector of tree h.

    Niculae, Martins & Cardie (2018), section 4.1.
    """

    task = "classify"

    def add_layers(self) -> None:
        self.output = nn.Linear(self.options.hidden, len(self.labels))

    def forward(self, batch: Batch) -> Output:
        posterior, roots = self.read(batch.sides[0])
        log_p = widened(self.output(roots)).log_softmax(-1)
        p, loss = mixture_loss(log_p, posterior, batch.targets, self.options.loss)
        return self.said(loss, p, posterior)


TASK = Task(SentenceClassifier, ModelConfig, METRICS, PROBABILITIES)
