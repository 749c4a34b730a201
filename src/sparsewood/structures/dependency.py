"""Dependency trees: every word has one head, another word or the root."""

from dataclasses import dataclass
from math import comb

import torch
from torch import Tensor

from sparsewood._internal.host import host_copy
from sparsewood._internal.lengths import lengths_or_full
from sparsewood._internal.numbers import check_whole
from sparsewood.structures._listing import sequences
from sparsewood.structures._one_hot import index_of, one_hot
from sparsewood.structures.base import WORDS_MAX, Native, NativeStructure
from sparsewood.structures.recursions import Shifted, Total
from sparsewood.structures.recursions.bounded_eisner import bounded_trees
from sparsewood.structures.recursions.eisner import projective_trees
from sparsewood.structures.recursions.shifted import shift_arcs
from sparsewood.structures.recursions.spanning_tree_samples import sample_spanning_trees
from sparsewood.structures.recursions.spanning_trees import spanning_tree_sums, spanning_trees

_ENUMERATE_MAX = 6  # (n + 1)**n candidate head sequences are looked at
_CHART_MAX = 2**40  # entries: no machine has the memory for more, and 64 bits number their bytes


@dataclass(frozen=True)
class DependencyTrees(NativeStructure):
    """Dependency trees over sentences of `n` words.

    The parts are arcs: `scores[b, i, j]`, shape (B, n, n + 1), scores the arc from head `j` to word
    `i + 1`; head 0 is the root, head `j` is word `j`. A tree is its `heads`, (n,) int64 with values
    0..n; the padding words of a shorter sentence hold -1. The arc from a word to itself is never
    read.

    The MAP oracle is the maximum spanning arborescence (Tarjan 1977; Gabow et al. 1986) in O(n^2),
    or the algorithm of Eisner (1996) in O(n^3) when projective; bounding the children of a word by
    `m` makes that O(n^3 m^2) where the best tree without the bound does not keep it.

    Args:
        projective: only trees without crossing arcs, the root standing left of the first word.
        single_root: only trees in which exactly one word has the root as its head.
        max_children: only trees in which no word has more children; those of the root are not
            counted. For projective trees alone: with crossing arcs the best tree is NP-hard to
            find (one child at most: a Hamiltonian path).
        root: only trees in which this word, counted from 1, is the one child of the root, in every
            sentence of a batch. Its other arcs, and those of the root to other words, are never
            read.
    """

    projective: bool = False
    single_root: bool = False
    max_children: int | None = None
    root: int | None = None

    parts_ndim = 2

    def __post_init__(self) -> None:
        if self.root is not None:
            check_whole("root", self.root)
        if self.max_children is None:
            return
        check_whole("max_children", self.max_children)
        if not self.projective:
            raise ValueError(
                f"max_children = {self.max_children} needs projective=True: the best tree with "
                "crossing arcs and so few children is NP-hard to find"
            )

    def indicator(self, structures: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
        return one_hot(structures, structures.shape[-1] + 1)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        shape = tuple(scores.shape)
        if scores.ndim != 3 or shape[2] != shape[1] + 1 or shape[1] == 0:
            raise ValueError(
                f"arc scores: expected (B, n, n + 1) with n >= 1 words, got shape {shape}"
            )
        if shape[1] > WORDS_MAX:
            raise ValueError(
                f"arc scores of shape {shape}: expected sentences of at most {WORDS_MAX} words, "
                f"got {shape[1]}; split them"
            )
        self._check_chart(shape)
        self.check_dtype_and_lengths("arc scores", scores, lengths)
        self.check_root(shape, lengths)

    def _check_chart(self, shape: tuple[int, ...]) -> None:
        """ValueError where bounding the children of words takes a chart beyond all memory."""
        if self.max_children is None:
            return
        most = min(self.max_children, shape[1] - 1)
        if (entries := 2 * (most + 1) ** 2 * shape[2] ** 2) > _CHART_MAX:
            raise ValueError(
                f"max_children = {self.max_children}: the chart for {shape[1]} words has "
                f"{entries:.1e} entries, expected at most {_CHART_MAX:.1e}; lower max_children, or "
                "split the sentences"
            )

    def check_root(self, shape: tuple[int, ...], lengths: Tensor | None) -> None:
        """ValueError unless every sentence of scores of this shape has the word `root`."""
        if self.root is None:
            return
        if self.root > shape[1]:
            raise ValueError(f"root = {self.root}: beyond the words of scores of shape {shape}")
        if lengths is None or torch.compiler.is_compiling():
            return  # where a graph cannot look, the solver finds no tree
        known = host_copy(lengths)
        if (short := known < self.root).any():
            b = int(short.nonzero()[0])
            raise ValueError(f"root = {self.root}: lengths[{b}] is {int(known[b])}")

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        heads = torch.arange(scores.shape[2], device=scores.device)
        dependents = heads[1:, None]
        read = dependents != heads
        if self.root is not None:
            read = read & ((heads == 0) == (dependents == self.root))
        if lengths is None:
            return read.expand(scores.shape)
        limit = lengths.to(scores.device)[:, None, None]
        return read & (dependents <= limit) & (heads <= limit)

    def restrict(self, scores: Tensor) -> Tensor:
        if self.root is None:
            return scores
        return torch.where(self.reads(scores), scores, -torch.inf)

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (T, n) heads are trees of this family over the first `lengths` words: (T,)."""
        words = torch.arange(1, structures.shape[1] + 1, device=structures.device)
        limit = lengths_or_full(lengths, structures)[:, None]
        inside = words <= limit
        in_range = (structures >= 0) & (structures <= limit) & (structures != words)
        legal = torch.where(inside, in_range, structures == -1).all(-1)
        heads = torch.where(legal[:, None] & inside, structures, 0)
        legal &= _reaches_root(heads)
        if self.single_root:
            legal &= ((heads == 0) & inside).sum(-1) == 1
        if self.root is not None:
            legal &= (((heads == 0) & inside) == (words == self.root)).all(-1)
        if self.projective:
            legal &= ~_has_crossing(heads, inside)
        if self.max_children is not None:
            children = (heads[:, None] == words[:, None]) & inside[:, None]
            legal &= (children.sum(-1) <= self.max_children).all(-1)
        return legal

    def count(self, n: int) -> int:
        """The number of trees over `n` words, in closed form.

        Cayley: (n + 1)**(n - 1), single root n**(n - 1); projective C(3n, n) / (2n + 1), single
        root C(3n - 2, n - 1) / n. With `max_children` by recursion. With `root` = r: n**(n - 2);
        projective, the words on either side of r are trees under it as under a root.
        """
        if n < 1:
            raise ValueError(f"a sentence has at least one word, got n = {n}")
        if self.root is not None and n < self.root:
            raise ValueError(f"root = {self.root}: a sentence of n = {n} words has no such word")
        if self.max_children is not None:
            return _count_bounded(n, self.max_children, self.single_root, self.root)
        if self.projective:
            if self.root is not None:
                return _count_projective(self.root - 1) * _count_projective(n - self.root)
            return comb(3 * n - 2, n - 1) // n if self.single_root else _count_projective(n)
        if self.root is not None:
            return n ** max(n - 2, 0)
        return n ** (n - 1) if self.single_root else (n + 1) ** (n - 1)

    def enumerate(self, n: int) -> Tensor:
        """Every tree over `n` words, (count(n), n) int64 in lexicographic order; n at most 6."""
        if not 1 <= n <= _ENUMERATE_MAX:
            raise ValueError(f"enumerate lists trees of 1 to {_ENUMERATE_MAX} words, got n = {n}")
        heads = sequences(range(n + 1), n)
        return heads[self.contains(heads, (n, n + 1))]

    def decode(self, parts: Tensor, lengths: Tensor | None = None) -> Tensor:
        return index_of(parts)

    @property
    def counts_roots(self) -> bool:
        """Whether inference has to see to a single root, which a known one is already."""
        return self.single_root and self.root is None

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        if self.max_children is not None:
            return bounded_trees(scores, lengths, total, self.counts_roots, self.max_children)
        if self.projective:
            return projective_trees(scores, lengths, total, self.counts_roots)
        return spanning_trees(scores, lengths, self.counts_roots)

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        return shift_arcs(scores, self.counts_roots)

    def sums(self, steps: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
        if self.projective:
            return super().sums(steps, lengths)
        return spanning_tree_sums(steps, lengths, self.counts_roots)

    def sample_steps(
        self, steps: Tensor, lengths: Tensor | None, generator: torch.Generator | None
    ) -> Tensor:
        if self.projective:
            return super().sample_steps(steps, lengths, generator)
        return sample_spanning_trees(steps, lengths, self.counts_roots, generator)

    @property
    def native(self) -> Native:
        if self.max_children is not None:
            return Native("bounded_trees", (self.counts_roots, self.max_children))
        return Native("trees", (self.projective, self.counts_roots))

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape[:1]


def _count_projective(n: int) -> int:
    """The number of projective trees over `n` words, the root's children among them."""
    return comb(3 * n, n) // (2 * n + 1)


def _count_bounded(n: int, most: int, single_root: bool, root: int | None) -> int:
    """The number of projective trees over `n` words of at most `most` children each.

    `side[k][c]` counts the ways to hang `k` adjacent words as `c` subtrees on one side of a head,
    `below[k]` the subtrees of `k` words, their top anywhere among them.
    """
    most = min(most, n)
    side, below = [[1] + [0] * most], [0]
    any_number = [1]  # the same for the root, whose children are not counted
    for k in range(1, n + 1):
        lefts = [(left, k - 1 - left) for left in range(k)]
        below.append(sum(_under(side, i, j) for i, j in lefts))
        blocks = range(1, k + 1)
        side.append([0] + [sum(below[s] * side[k - s][c] for s in blocks) for c in range(most)])
        any_number.append(sum(below[s] * any_number[k - s] for s in blocks))
    if root is not None:
        return _under(side, root - 1, n - root)
    return below[n] if single_root else any_number[n]


def _under(side: list[list[int]], left: int, right: int) -> int:
    """The ways to hang so many words on the left and on the right of a head: see above."""
    most = len(side[0]) - 1
    pairs = [(c, d) for c in range(most + 1) for d in range(most + 1 - c)]
    return sum(side[left][c] * side[right][d] for c, d in pairs)


def _reaches_root(heads: Tensor) -> Tensor:
    """Whether every word comes to the root by following heads: (T, n) -> (T,). No cycles then."""
    ancestor = torch.nn.functional.pad(heads, (1, 0))
    for _ in range(heads.shape[-1].bit_length()):  # each round doubles the steps taken
        ancestor = ancestor.gather(-1, ancestor)
    return (ancestor == 0).all(-1)


def _has_crossing(heads: Tensor, inside: Tensor) -> Tensor:
    """Whether two arcs cross, drawn above the sentence with the root at position 0: (T,)."""
    words = torch.arange(1, heads.shape[-1] + 1, device=heads.device).expand_as(heads)
    left, right = torch.minimum(heads, words), torch.maximum(heads, words)
    starts_inside = (left[:, :, None] < left[:, None]) & (left[:, None] < right[:, :, None])
    crossing = starts_inside & (right[:, :, None] < right[:, None])
    return (crossing & inside[:, :, None] & inside[:, None]).any(-1).any(-1)
