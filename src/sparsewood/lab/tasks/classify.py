"""Sentence classification: a softmax over the vector of each tree."""

from torch import nn

from sparsewood.lab.data.batches import Batch
from sparsewood.lab.data.vectors import VectorReference
from sparsewood.lab.tasks.metrics import Accuracy, Metric, Output
from sparsewood.lab.tasks.model import ModelConfig, TreeModel, mixture_loss, widened


class SentenceClassifier(TreeModel):
    """p(y | x) = sum_h p(h | x) softmax(W r(h, x) + b)_y, with r(h, x) the vector of tree h.

    Niculae, Martins & Cardie (2018), section 4.1.
    """

    task = "classify"
    criterion = "accuracy"

    def __init__(
        self,
        options: ModelConfig,
        words: list[str],
        labels: list[str],
        lowercase: bool = True,
        vectors: VectorReference | None = None,
    ) -> None:
        super().__init__(options, words, labels, lowercase, vectors)
        self.output = nn.Linear(options.hidden, len(labels))

    def forward(self, batch: Batch) -> Output:
        posterior, roots = self.read(batch.sides[0])
        log_p = widened(self.output(roots)).log_softmax(-1)
        p, loss = mixture_loss(log_p, posterior, batch.targets, self.options.loss)
        return Output(loss, p, (posterior,))

    def new_metric(self) -> Metric:
        return Accuracy()
