"""Sentences: a class, a number or labels by the vector of each tree."""

from sparsewood.lab.data.batches import Batch
from sparsewood.lab.tasks.metrics import Output
from sparsewood.lab.tasks.target_model import TargetModel, task_of
from sparsewood.lab.tasks.targets import Labels, Numbers


class SentenceClassifier(TargetModel):
    """p(y | x) = sum_h p(h | x) softmax(W r(h, x) + b)_y, with r(h, x) the vector of tree h.

    Niculae, Martins & Cardie (2018), section 4.1.
    """

    task = "classify"

    def forward(self, batch: Batch) -> Output:
        posterior, roots = self.read(batch.sides[0])
        return self.answered(roots, posterior, batch.targets, posterior)


class SentenceRegressor(SentenceClassifier):
    """The number sum_h p(h | x) (w r(h, x) + b), in the unit of the data: see `Numbers`."""

    task = "classify-number"
    says = Numbers


class SentenceLabeller(SentenceClassifier):
    """p(y_l | x) = sum_h p(h | x) sigmoid(w_l r(h, x) + b_l) for each label l: see `Labels`."""

    task = "classify-labels"
    says = Labels


TASKS = tuple(map(task_of, (SentenceClassifier, SentenceRegressor, SentenceLabeller)))
