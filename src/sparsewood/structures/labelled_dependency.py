"""Dependency trees with a label on every arc."""

from dataclasses import dataclass

import torch
from torch import Tensor

from sparsewood._internal.batch import given_shape
from sparsewood.structures._listing import check_count, sequences
from sparsewood.structures._one_hot import one_hot
from sparsewood.structures.base import Native, NativeStructure
from sparsewood.structures.dependency import DependencyTrees
from sparsewood.structures.recursions import Shifted, Total
from sparsewood.structures.recursions.chart_sums import Chart
from sparsewood.structures.recursions.shifted import shift_arcs
from sparsewood.structures.recursions.totals import sample_one

_OPTIONS_MAX = 32_767  # native code stores a word's head and label in 16 bits


@dataclass(frozen=True)
class LabelledDependencyTrees(NativeStructure):
    """Dependency trees over sentences of `n` words, each arc with one of `L` labels.

    The parts are labelled arcs: `scores[b, i, j, l]`, shape (B, n, n + 1, L), scores the arc from
    head `j` to word `i + 1` with label `l`; head 0 is the root, head `j` is word `j`. The arc from
    a word to itself is never read. A tree is (n, 2) int64: the head of each word and the label of
    the arc to it; padding words hold -1 in both.

    Labels do not constrain each other, so the MAP oracle picks the best label of each arc in
    O(n^2 L) and then calls the oracle of `DependencyTrees` (McDonald, Lerman & Pereira 2006,
    section 2).

    Args:
        projective: only trees without crossing arcs; the root is left of the first word.
        single_root: only trees in which exactly one word has the root as its head.
        root: only trees in which this word, counted from 1, is the only child of the root, as in
            `DependencyTrees`.
    """

    projective: bool = False
    single_root: bool = False
    root: int | None = None

    parts_ndim = 3

    def __post_init__(self) -> None:
        _ = self.unlabelled  # raises ValueError for invalid options

    @property
    def unlabelled(self) -> DependencyTrees:
        """The same trees without labels."""
        return DependencyTrees(self.projective, self.single_root, root=self.root)

    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        arcs = self.unlabelled.indicator(structures[..., 0])
        return arcs[..., None] * one_hot(structures[..., 1, None], shape[-1])

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        shape = tuple(scores.shape)
        if scores.ndim != 4 or shape[2] != shape[1] + 1 or 0 in shape[1:]:
            raise ValueError(
                "labelled arc scores: expected (*batch, n, n + 1, L) with n >= 1 words and "
                f"L >= 1 labels, got shape {given_shape(shape)}"
            )
        if shape[2] * shape[3] > _OPTIONS_MAX:
            raise ValueError(
                f"labelled arc scores of shape {given_shape(shape)}: expected (n + 1) * L of at "
                f"most {_OPTIONS_MAX}, got {shape[2] * shape[3]}"
            )
        self.check_dtype_and_lengths("labelled arc scores", scores, lengths)
        self.unlabelled.check_root(shape, lengths)

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        return self.unlabelled.reads(scores[..., 0], lengths)[..., None].expand(scores.shape)

    def restrict(self, scores: Tensor) -> Tensor:
        return scores if self.root is None else torch.where(self.reads(scores), scores, -torch.inf)

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (T, n, 2) heads and labels are trees over the first `lengths` words: (T,)."""
        heads, labels = structures.unbind(-1)
        known = (labels >= 0) & (labels < shape[-1])
        labelled = torch.where(heads >= 0, known, labels == -1).all(-1)
        return labelled & self.unlabelled.contains(heads, shape[:-1], lengths)

    def decode(self, parts: Tensor, lengths: Tensor | None = None) -> Tensor:
        heads = self.unlabelled.decode(parts.sum(-1), lengths)
        labels = parts.sum(-2).argmax(-1)
        return torch.stack([heads, torch.where(heads >= 0, labels, -1)], -1)

    def count(self, n: int, labels: int) -> int:
        """The number of trees over `n` words: the count of `DependencyTrees` times labels**n."""
        if labels < 1:
            raise ValueError(f"expected at least one label, got labels = {labels}")
        return self.unlabelled.count(n) * labels**n

    def enumerate(self, n: int, labels: int) -> Tensor:
        """Every tree over `n` words: (count(n, labels), n, 2) int64, at most 20,000."""
        check_count(self.count(n, labels), "trees", f"over {n} words with {labels} labels")
        heads = self.unlabelled.enumerate(n)
        names = sequences(range(labels), n)
        pairs = torch.broadcast_tensors(heads[:, None], names[None])
        return torch.stack(pairs, -1).flatten(0, 1)

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        return self.unlabelled.log_partition(total(scores, -1), lengths, total)

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        return shift_arcs(scores, self.unlabelled.counts_roots)

    def chart(self, steps: Tensor, lengths: Tensor | None) -> Chart | None:
        return self.unlabelled.chart(steps, lengths)

    def samples(
        self, steps: Tensor, lengths: Tensor | None, n: int, generator: torch.Generator | None
    ) -> Tensor:
        if self.projective:
            return super().samples(steps, lengths, n, generator)
        heads = self.unlabelled.samples(steps.logsumexp(-1), lengths, n, generator)
        arcs = heads.clamp(min=0)[..., None, None].expand(-1, -1, -1, 1, steps.shape[-1])
        own = steps.expand(n, *steps.shape).gather(3, arcs).squeeze(3)  # (n, B, words, L)
        labels = sample_one(own, -1, generator).argmax(-1)
        return torch.stack([heads, torch.where(heads >= 0, labels, -1)], -1)

    @property
    def native(self) -> Native:
        return Native("labelled_trees", (self.projective, self.unlabelled.counts_roots))

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (shape[0], 2)
