"""Attachment: the share of words with the correct head."""

from dataclasses import dataclass

from sparsewood.lab.tasks._parser_input import ParserBatch
from sparsewood.lab.tasks.metrics import LossMetric, Output, total_loss


@dataclass
class Attachment(LossMetric):
    """The mean loss per word, and unlabelled attachment with and without punctuation.

    Values, in percent: `uas` is the share of words whose head is correct, `uas_without_punctuation`
    the same without words that consist of Unicode punctuation (as in CoNLL-X), `exact` the share of
    sentences whose heads are all correct.

    Attributes:
        attached: words whose head is correct.
        scored, scored_attached: words other than punctuation, and those whose head is correct.
        sentences, exact: all sentences, and those whose heads are all correct.
    """

    attached: int = 0
    scored: int = 0
    scored_attached: int = 0
    sentences: int = 0
    exact: int = 0

    def add(self, output: Output, batch: ParserBatch) -> None:
        (posterior,) = output.posteriors
        assert batch.heads is not None
        inside = batch.heads >= 0
        right = (posterior.mode == batch.heads) & inside
        scored = inside & ~batch.punctuation
        self.count += batch.units
        self.sentences += len(right)
        whole = (right == inside).all(-1)
        found = (right, scored, right & scored, whole)
        self.later(total_loss(output), *(kind.sum() for kind in found))

    def take(self, numbers: list[float]) -> None:
        super().take(numbers)
        attached, scored, scored_attached, exact = map(int, numbers[1:])
        self.attached += attached
        self.scored += scored
        self.scored_attached += scored_attached
        self.exact += exact

    def values(self) -> dict[str, float]:
        self.settle()
        if not self.sentences:
            return super().values()
        return {
            **super().values(),
            "uas": 100.0 * self.attached / self.count,
            "uas_without_punctuation": 100.0 * self.scored_attached / max(self.scored, 1),
            "exact": 100.0 * self.exact / self.sentences,
        }
