"""Classification of sentences, and the same with numbers or several labels as the target."""

from sparsewood.lab.data.batches import Batch
from sparsewood.lab.tasks.metrics import Output
from sparsewood.lab.tasks.target_model import TargetModel, tasks_of


class SentenceModel(TargetModel):
    """A target of a sentence, from the vector r(h, x) of each of its trees h.

    With the target "class", p(y | x) = sum_h p(h | x) softmax(W r(h, x) + b)_y: Niculae, Martins &
    Cardie (2018), section 4.1. See `Numbers` and `Labels` for the other targets.
    """

    task = "classify"

    def forward(self, batch: Batch) -> Output:
        posterior, roots = self.read(batch.sides[0])
        return self.answered(roots, posterior, batch.targets, posterior)


TASKS = tasks_of(
    SentenceModel,
    "Predict the {} of a text.",
    example=("a gripping film about nothing much",),
)
