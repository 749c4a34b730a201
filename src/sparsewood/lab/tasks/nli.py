"""Pairs of sentences: a class, a number or labels by every pair of their trees."""

import torch
from torch import nn

from sparsewood.lab.data.batches import Batch
from sparsewood.lab.tasks.metrics import Output
from sparsewood.lab.tasks.target_model import TargetModel, task_of
from sparsewood.lab.tasks.targets import Labels, Numbers


class PairClassifier(TargetModel):
    """p(y | x) = sum_{g, h} p(g | premise) p(h | hypothesis) p(y | g, h, x).

    With u and v the vectors of the two trees, p(y | g, h, x) is a softmax over a tanh layer of
    [u; v; u - v; u * v]. Premise and hypothesis share encoder, scorer and composer.

    Niculae, Martins & Cardie (2018), section 4.2.
    """

    task = "nli"

    def add_layers(self) -> None:
        self.compare = nn.Linear(4 * self.options.hidden, self.options.hidden)
        super().add_layers()

    def forward(self, batch: Batch) -> Output:
        (left, u), (right, v) = (self.read(side) for side in batch.sides)
        pairs = left.product(right)
        u, v = u[pairs.left], v[pairs.right]
        hidden = self.compare(torch.cat([u, v, u - v, u * v], -1)).tanh()
        return self.answered(self.dropout(hidden), pairs, batch.targets, left, right)


class PairRegressor(PairClassifier):
    """A number by the same layers, in the unit of the data: see `Numbers`."""

    task = "nli-number"
    says = Numbers


class PairLabeller(PairClassifier):
    """Any number of labels by the same layers: see `Labels`."""

    task = "nli-labels"
    says = Labels


TASKS = tuple(task_of(m, sides=2) for m in (PairClassifier, PairRegressor, PairLabeller))
