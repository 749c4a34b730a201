"""Binary trees: constituency bracketings of a sentence, with or without labels."""

from dataclasses import dataclass
from itertools import product
from math import comb

import torch
from torch import Tensor

from sparsewood._internal.batch import given_shape
from sparsewood._internal.lengths import lengths_or_full
from sparsewood.structures._listing import check_count
from sparsewood.structures._one_hot import index_of, one_hot
from sparsewood.structures.base import WORDS_MAX, Native, NativeStructure
from sparsewood.structures.recursions import Shifted, Total
from sparsewood.structures.recursions.chart_sums import Chart
from sparsewood.structures.recursions.cky import binary_trees, shift_spans

_LABELS_MAX = 32_766  # native spans store "none" or a label in 16 bits

Span = tuple[int, int]


@dataclass(frozen=True)
class BinaryTrees(NativeStructure):
    """Binary trees over sentences of `n` words: each span of several words splits in two.

    The parts are spans: `scores[b, i, j]`, shape (B, n, n), scores the span of words `i` to `j`,
    both included; with labels `scores[b, i, j, l]`, shape (B, n, n, L), scores it under label `l`.
    Below the diagonal (i > j) nothing is read. A tree has 2n - 1 spans; the single words [i, i] and
    the whole sentence [0, n - 1] are in every tree.

    A tree is an (n, n) int64 table: 1 at its spans and 0 elsewhere. With labels, it holds the
    label at its spans and -1 elsewhere. Padding counts as "no span".

    The MAP oracle is CKY (Cocke & Schwartz 1970; Younger 1967) in O(n^3 + n^2 L).

    Args:
        labelled: each span has one of `L` labels.
    """

    labelled: bool = False

    @property
    def parts_ndim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 2 + self.labelled

    def indicator(self, structures: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
        if not self.labelled:
            return structures.to(torch.float64)
        if shape is None:
            raise ValueError("labelled trees do not determine the number of labels: pass `shape`")
        return one_hot(structures, shape[-1])

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        shape = tuple(scores.shape)
        wanted = "(*batch, n, n, L)" if self.labelled else "(*batch, n, n)"
        if scores.ndim != 3 + self.labelled or shape[1] != shape[2] or 0 in shape[1:]:
            raise ValueError(
                f"span scores: expected {wanted} with n >= 1 words"
                f"{' and L >= 1 labels' if self.labelled else ''}, got shape {given_shape(shape)}"
            )
        if shape[1] > WORDS_MAX:
            raise ValueError(
                f"span scores of shape {given_shape(shape)}: expected at most {WORDS_MAX} words, "
                f"got {shape[1]}; split the sentences"
            )
        if self.labelled and shape[3] > _LABELS_MAX:
            raise ValueError(
                f"span scores of shape {given_shape(shape)}: expected at most {_LABELS_MAX} labels"
            )
        self.check_dtype_and_lengths("span scores", scores, lengths)

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        words = torch.arange(scores.shape[1], device=scores.device)
        inside = words < lengths_or_full(lengths, scores)[:, None, None]
        spans = (words[:, None] <= words) & inside
        return spans[..., None].expand(scores.shape) if self.labelled else spans

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (T, n, n) tables are binary trees over the first `lengths` words: (T,).

        A table with 2n - 1 spans is a tree if it has the whole sentence and each span of several
        words splits into two spans of the table.
        """
        words = torch.arange(structures.shape[1], device=structures.device)
        limit = lengths_or_full(lengths, structures)
        labels = (structures >= 0) & (structures < shape[-1])
        has = labels if self.labelled else structures == 1
        none = structures == (-1 if self.labelled else 0)
        last = words == limit[:, None] - 1
        inside = (words[:, None] <= words) & (words < limit[:, None, None])

        chart = has.double()
        splits = chart @ torch.nn.functional.pad(chart[:, 1:], (0, 0, 0, 1))  # by first, last word
        good = torch.where(has, inside & ((splits > 0) | (words[:, None] == words)), none)
        whole = (has[:, 0] & last).any(-1)
        return good.all(-1).all(-1) & whole & (has.sum((-1, -2)) == 2 * limit - 1)

    def decode(self, parts: Tensor, lengths: Tensor | None = None) -> Tensor:
        if not self.labelled:
            return (parts != 0).long()
        return index_of(parts)

    def count(self, n: int, labels: int | None = None) -> int:
        """The number of trees over `n` words: Catalan(n - 1), times L**(2n - 1) with L `labels`."""
        self._check_size(n, labels)
        return comb(2 * n - 2, n - 1) // n * (labels or 1) ** (2 * n - 1)

    def enumerate(self, n: int, labels: int | None = None) -> Tensor:
        """Every tree over `n` words, with `labels` labels: (count, n, n), at most 20,000."""
        check_count(self.count(n, labels), "trees", f"over {n} words")
        table = torch.full((self.count(n, labels), n, n), -1 if self.labelled else 0)
        names = range(labels) if labels else [1]
        trees = product(_bracketings(0, n - 1), product(names, repeat=2 * n - 1))
        for row, (spans, values) in zip(table, trees, strict=True):
            first, last = zip(*spans, strict=True)
            row[list(first), list(last)] = torch.tensor(values)
        return table

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        spans = total(scores, -1) if self.labelled else scores
        return binary_trees(spans, lengths, total)

    def chart(self, steps: Tensor, lengths: Tensor | None) -> Chart | None:
        return Chart("binary_spans", lengths_or_full(lengths, steps)[:, None], (steps.shape[1],))

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        return shift_spans(scores, lengths_or_full(lengths, scores))

    @property
    def native(self) -> Native:
        return Native("binary_trees", (self.labelled,))

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape[:2]

    def _check_size(self, n: int, labels: int | None) -> None:
        if n < 1:
            raise ValueError(f"expected at least one word, got n = {n}")
        if (labels is not None) != self.labelled or (labels is not None and labels < 1):
            wanted = "at least 1 label" if self.labelled else "None for trees without labels"
            raise ValueError(f"labels: expected {wanted}, got {labels}")


def _bracketings(first: int, last: int) -> list[tuple[Span, ...]]:
    """The spans of every binary tree over the words `first` to `last`."""
    if first == last:
        return [((first, last),)]
    return [
        ((first, last), *left, *right)
        for split in range(first, last)
        for left in _bracketings(first, split)
        for right in _bracketings(split + 1, last)
    ]
