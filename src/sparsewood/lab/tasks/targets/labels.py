"""Any number of labels per example."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from sparsewood._internal.host import host_copy
from sparsewood._internal.support import log_expectation
from sparsewood.lab.data.batches import check_labels
from sparsewood.lab.data.examples import Corpus, Example
from sparsewood.lab.tasks.measures import LOSS, TREES, Measure, MetricSpec
from sparsewood.lab.tasks.metrics import LossMetric, Output, total_loss
from sparsewood.lab.tasks.targets.base import Loss, Target
from sparsewood.lab.tasks.targets.classes import MACRO_F1
from sparsewood.pairs import PairPosterior
from sparsewood.posterior import Posterior

THRESHOLD = 0.5  # minimum probability of a predicted label

_MICRO_F1 = Measure(
    "micro_f1", "micro-F1", 2, "%", brief="micro-F1 {:.2f}", compared=True, narrow="micro-\nF1"
)
_EXACT = Measure("exact_match", "exact match", 2, "%", compared=True)


class Labels(Target):
    """An independent probability per label; labels with at least 1/2 are predicted.

    With z_hl the score of label l for structure h, y_l whether the example has it, and the sign
    s_l = 2 y_l - 1,

        p(y_l | x) = sum_h p(h | x) sigmoid(s_l z_hl)
        marginal    mean_l -log p(y_l | x)
        expected    mean_l sum_h p(h | x) (-log sigmoid(s_l z_hl))

    The validation criterion is the loss: it is a mean over examples and changes from the first
    epoch on, while F1 and exact match are 0 as long as no probability reaches 1/2.
    """

    kind = "labels"
    metrics = MetricSpec(LOSS, (LOSS, _MICRO_F1, MACRO_F1, _EXACT, *TREES))
    form = "{:.1%}"

    @classmethod
    def check(cls, corpus: Corpus) -> None:
        if not corpus.labels:
            raise ValueError("expected labels, got none in the training split")

    def encode(self, examples: Sequence[Example]) -> Tensor:
        """(n, labels) int64, 1 and 0; rows of -1 if the labels are unknown."""
        index = {label: i for i, label in enumerate(self.labels)}
        check_labels(examples, index)
        targets = torch.full((len(examples), len(index)), -1)
        for row, example in zip(targets, examples, strict=True):
            if example.labels is not None:
                row.zero_()
                row[[index[label] for label in example.labels]] = 1
        return targets

    def evaluate(
        self, scores: Tensor, posterior: Posterior | PairPosterior, targets: Tensor, loss: Loss
    ) -> tuple[Tensor, Tensor | None]:
        p = posterior.expect(scores.sigmoid())
        if (host_copy(targets) < 0).any():
            return p, None
        instance, labels = posterior.instance, scores.shape[1]
        sign = (2 * targets - 1)[instance].to(scores.dtype)
        each = logsigmoid(sign * scores)
        if loss == "expected":
            return p, -posterior.expect(each).mean(-1)
        # Each pair of example and label is a separate instance.
        of_label = instance[:, None] * labels + torch.arange(labels, device=scores.device)
        shape = torch.Size((*posterior.sizes.shape, labels))
        weights = posterior.weights.repeat_interleave(labels)
        together = log_expectation(each.flatten(), weights, of_label.flatten(), shape)
        return p, -together.mean(-1)

    def new_metric(self, *, training: bool) -> LossMetric:
        return LabelCounts()

    def answers(self, prediction: Tensor, k: int) -> dict[str, float]:
        """The predicted labels, and the next most probable ones up to `k`, with probabilities."""
        p, order = prediction.float().sort(descending=True, stable=True)
        most = max(k, int((p >= THRESHOLD).sum()))
        best = zip(order[:most].tolist(), p[:most].tolist(), strict=True)
        return {self.labels[j]: x for j, x in best}

    def verdict(self, answers: Mapping[str, float]) -> dict[str, Any]:
        return {"labels": [label for label, p in answers.items() if p >= THRESHOLD]}


@dataclass
class LabelCounts(LossMetric):
    """The mean loss, F1 and exact match of predicted labels.

    Values, in percent: `exact_match` is the share of examples with all labels correct; with F1 = 2
    TP / (2 TP + FP + FN), `micro_f1` is computed over all labels together, `macro_f1` is the mean
    over labels. Labels that are never correct and never predicted have no F1 and are left out; if
    none is left, nothing is wrong and both are 100.

    Attributes:
        exact: examples with all labels correct.
        right: how often each label is predicted correctly.
        seen: how often it is predicted plus how often it is correct: 2 TP + FP + FN.
    """

    exact: int = 0
    right: Counter[int] = field(default_factory=Counter)
    seen: Counter[int] = field(default_factory=Counter)

    def add(self, output: Output, batch: Any) -> None:
        self.count += batch.units
        # In float32, as in `answers`.
        told, has = output.prediction.float() >= THRESHOLD, batch.targets > 0
        right, seen = (told & has).sum(0), told.sum(0) + has.sum(0)
        self.later(total_loss(output), (told == has).all(-1).sum(), right, seen)

    def take(self, numbers: list[float]) -> None:
        super().take(numbers)
        exact, *counts = (int(number) for number in numbers[1:])
        half = len(counts) // 2
        self.exact += exact
        self.right.update(dict(enumerate(counts[:half])))
        self.seen.update(dict(enumerate(counts[half:])))

    def values(self) -> dict[str, float]:
        self.settle()
        if not self.count:
            return {}
        f1 = [2 * self.right[label] / n for label, n in self.seen.items() if n]
        total = self.seen.total()
        return {
            **super().values(),
            "micro_f1": 100.0 * (2 * self.right.total() / total if total else 1.0),
            "macro_f1": 100.0 * (sum(f1) / len(f1) if f1 else 1.0),
            "exact_match": 100.0 * self.exact / self.count,
        }
