"""Models with a target: its answer and loss are functions of the scores of each structure."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from sparsewood.lab.data.batches import Batch
from sparsewood.lab.data.examples import Corpus, Example, target_kind, task_name
from sparsewood.lab.tasks.metrics import LossMetric, Metric, Output
from sparsewood.lab.tasks.mixture import widened
from sparsewood.lab.tasks.model import TreeModel
from sparsewood.lab.tasks.targets import TARGETS, Target
from sparsewood.lab.tasks.task import Task
from sparsewood.pairs import PairPosterior
from sparsewood.posterior import Posterior


class TargetModel(TreeModel):
    """A model of trees that computes a vector r per structure, with a target.

    The scores of a structure are W r + b. The class serves one task per target: "classify",
    "classify-number" and "classify-labels", for example.
    """

    target: Target

    @classmethod
    def check(cls, corpus: Corpus) -> None:
        _target(corpus.task).check(corpus)

    @classmethod
    def labels_of(cls, corpus: Corpus) -> list[str]:
        return _target(corpus.task).labels_of(corpus)

    def fit(self, examples: Sequence[Example]) -> None:
        self.target.fit(examples)

    def add_layers(self) -> None:
        self.target = _target(self.task)(self.labels)
        self.output = nn.Linear(self.options.hidden, self.target.size)

    def targets_of(self, examples: Sequence[Example]) -> Tensor:
        return self.target.encode(examples)

    def answered(
        self,
        vectors: Tensor,
        structures: Posterior | PairPosterior,
        targets: Tensor,
        *posteriors: Posterior,
    ) -> Output:
        """The output for a batch.

        Args:
            vectors: (T, hidden), one per structure or pair of structures.
            structures: the posterior over them.
            targets: targets of the batch.
            posteriors: the posteriors over the trees of each side.
        """
        scores = widened(self.output(vectors))
        prediction, loss = self.target.evaluate(scores, structures, targets, self.options.loss)
        return self.said(loss, prediction, *posteriors)

    def new_metric(self, *, training: bool) -> LossMetric:
        return self.target.new_metric(training=training)

    def measured(self, metrics: Sequence[Metric]) -> dict[str, Any]:
        found = super().measured(metrics)
        for metric in metrics:
            if isinstance(metric, LossMetric):
                found |= self.target.told(metric)
        return found

    def outcomes(self, output: Output, batch: Batch) -> Tensor | None:
        found = self.target.outcomes(output.prediction, batch.targets)
        return super().outcomes(output, batch) if found is None else found

    def answers(self, output: Output, i: int, k: int) -> dict[str, float]:
        return self.target.answers(output.prediction[i], k)

    def verdict(self, answers: dict[str, float]) -> dict[str, Any]:
        return self.target.verdict(answers)


def _target(task: str) -> type[Target]:
    return TARGETS[target_kind(task)]


def tasks_of(model: type[TargetModel], asked: str, **more: Any) -> tuple[Task, ...]:
    """The tasks of a model, one per target.

    Args:
        asked: the task in a sentence, with {} for the kind of target.
        more: fields of `Task`.
    """
    return tuple(
        Task(
            task_name(model.task, target.kind),
            model,
            model.config_class,
            target.metrics,
            target.form,
            answer=target.kind,
            asked=asked.format(target.kind),
            **more,
        )
        for target in TARGETS.values()
    )
