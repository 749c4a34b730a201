"""Natural language inference: a softmax over every pair of trees of premise and hypothesis."""

import torch
from torch import nn

from sparsewood.lab.data.batches import Batch
from sparsewood.lab.tasks.classify import METRICS, PROBABILITIES, Classifier
from sparsewood.lab.tasks.metrics import Output
from sparsewood.lab.tasks.mixture import mixture_loss, widened
from sparsewood.lab.tasks.model_config import ModelConfig
from sparsewood.lab.tasks.task import Task


class PairClassifier(Classifier):
    """p(y | x) = sum_{g, h} p(g | premise) p(h | hypothesis) p(y | g, h, x).

    With u and v the vectors of the two trees, p(y | g, h, x) is a softmax over a tanh layer of
    [u; v; u - v; u * v]. Premise and hypothesis share encoder, scorer and composer.

    Niculae, Martins & Cardie (2018), section 4.2.
    """

    task = "nli"

    def add_layers(self) -> None:
        self.compare = nn.Linear(4 * self.options.hidden, self.options.hidden)
        self.output = nn.Linear(self.options.hidden, len(self.labels))

    def forward(self, batch: Batch) -> Output:
        (left, u), (right, v) = (self.read(side) for side in batch.sides)
        pairs = left.product(right)
        u, v = u[pairs.left], v[pairs.right]
        hidden = self.compare(torch.cat([u, v, u - v, u * v], -1)).tanh()
        log_p = widened(self.output(self.dropout(hidden))).log_softmax(-1)
        p, loss = mixture_loss(log_p, pairs, batch.targets, self.options.loss)
        return self.said(loss, p, left, right)


TASK = Task(PairClassifier, ModelConfig, METRICS, PROBABILITIES, sides=2)
