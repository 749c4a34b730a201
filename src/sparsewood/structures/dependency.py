"""Dependency trees: every word has one head, which is another word or the root."""

from dataclasses import dataclass
from math import comb

import torch
from torch import Tensor

from sparsewood._internal.batch import given_shape, name_entry
from sparsewood._internal.host import host_copy
from sparsewood._internal.lengths import lengths_or_full
from sparsewood._internal.numbers import check_whole
from sparsewood.structures._listing import sequences
from sparsewood.structures._one_hot import index_of, one_hot
from sparsewood.structures.base import WORDS_MAX, Native, NativeStructure
from sparsewood.structures.recursions import Shifted, Total
from sparsewood.structures.recursions.bounded_eisner import bounded_trees
from sparsewood.structures.recursions.chart_sums import Chart
from sparsewood.structures.recursions.eisner import projective_trees
from sparsewood.structures.recursions.shifted import shift_arcs
from sparsewood.structures.recursions.spanning_tree_samples import sample_spanning_trees
from sparsewood.structures.recursions.spanning_trees import spanning_tree_sums, spanning_trees

_ENUMERATE_MAX = 6  # enumerate builds (n + 1)**n candidates
_CHART_MAX = 2**40  # entries; more exceed the memory of any machine


@dataclass(frozen=True)
class DependencyTrees(NativeStructure):
    """Dependency trees over sentences of `n` words.

    The parts are arcs: `scores[b, i, j]`, shape (B, n, n + 1), scores the arc from head `j` to word
    `i + 1`; head 0 is the root, head `j` is word `j`. A tree is its `heads`, (n,) int64 with values
    0..n; the padding words of a shorter sentence hold -1. The arc from a word to itself is never
    read.

    The MAP oracle is the maximum spanning arborescence (Tarjan 1977; Gabow et al. 1986) in O(n^2),
    or the algorithm of Eisner (1996) in O(n^3) if projective. With at most `m` children per word
    it takes O(n^3 m^2), unless the best tree without the bound already satisfies it.

    Args:
        projective: only trees without crossing arcs; the root is left of the first word.
        single_root: only trees in which exactly one word has the root as its head.
        max_children: maximum number of children per word; the root may have more. Requires
            `projective`: with crossing arcs, finding the best tree is NP-hard (with one child per
            word it is a Hamiltonian path).
        root: only trees in which this word, counted from 1, is the only child of the root, in
            every sentence of a batch. Arcs from the root to other words and from other words to
            this word are never read.
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
                f"max_children = {self.max_children} needs projective=True: with crossing arcs, "
                "finding the best tree is NP-hard"
            )

    def indicator(self, structures: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
        return one_hot(structures, structures.shape[-1] + 1)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        shape = tuple(scores.shape)
        if scores.ndim != 3 or shape[2] != shape[1] + 1 or shape[1] == 0:
            raise ValueError(
                f"arc scores: expected (*batch, n, n + 1) with n >= 1 words, got shape "
                f"{given_shape(shape)}"
            )
        if shape[1] > WORDS_MAX:
            raise ValueError(
                f"arc scores of shape {given_shape(shape)}: expected sentences of at most "
                f"{WORDS_MAX} words, got {shape[1]}; split them"
            )
        self._check_chart(shape)
        self.check_dtype_and_lengths("arc scores", scores, lengths)
        self.check_root(shape, lengths)

    def _check_chart(self, shape: tuple[int, ...]) -> None:
        """Raise ValueError if the chart for `max_children` would exceed any memory."""
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
        """Raise ValueError unless every sentence has the word `root`."""
        if self.root is None:
            return
        if self.root > shape[1]:
            raise ValueError(
                f"root = {self.root} exceeds the words of scores of shape {given_shape(shape)}"
            )
        if lengths is None or torch.compiler.is_compiling():
            return  # values unknown while tracing: the solver will find no tree
        known = host_copy(lengths)
        if (short := known < self.root).any():
            b = int(short.nonzero()[0])
            short_one = name_entry("lengths", (b,), len(known))
            raise ValueError(f"root = {self.root}: {short_one} is {int(known[b])}")

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
        root C(3n - 2, n - 1) / n. With `max_children`, by recursion. With `root` = r: n**(n - 2);
        if projective, the product of the counts for the words left and right of r.
        """
        if n < 1:
            raise ValueError(f"expected at least one word, got n = {n}")
        if self.root is not None and n < self.root:
            raise ValueError(f"root = {self.root} exceeds the number of words, n = {n}")
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
            raise ValueError(f"enumerate: expected 1 to {_ENUMERATE_MAX} words, got n = {n}")
        heads = sequences(range(n + 1), n)
        return heads[self.contains(heads, (n, n + 1))]

    def decode(self, parts: Tensor, lengths: Tensor | None = None) -> Tensor:
        return index_of(parts)

    @property
    def counts_roots(self) -> bool:
        """Whether inference must enforce a single root; a given `root` already implies it."""
        return self.single_root and self.root is None

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        if self.max_children is not None:
            return bounded_trees(scores, lengths, total, self.counts_roots, self.max_children)
        if self.projective:
            return projective_trees(scores, lengths, total, self.counts_roots)
        return spanning_trees(scores, lengths, self.counts_roots)

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        return shift_arcs(scores, self.counts_roots)

    def chart(self, steps: Tensor, lengths: Tensor | None) -> Chart | None:
        if not self.projective:
            return None
        n, sizes = steps.shape[1], lengths_or_full(lengths, steps)[:, None]
        root = "_single_root" if self.counts_roots else ""
        if self.max_children is None:
            return Chart("projective_trees" + root, sizes, (n,))
        most = min(self.max_children, n)
        return Chart(
            "few_children" + root, torch.nn.functional.pad(sizes, (0, 1), value=most), (n, most)
        )

    def sums(self, steps: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
        if self.projective:
            return super().sums(steps, lengths)
        return spanning_tree_sums(steps, lengths, self.counts_roots)

    def samples(
        self, steps: Tensor, lengths: Tensor | None, n: int, generator: torch.Generator | None
    ) -> Tensor:
        if self.projective:
            return super().samples(steps, lengths, n, generator)
        return sample_spanning_trees(steps, lengths, self.counts_roots, n, generator)

    @property
    def native(self) -> Native:
        if self.max_children is not None:
            return Native("bounded_trees", (self.counts_roots, self.max_children))
        return Native("trees", (self.projective, self.counts_roots))

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape[:1]


def _count_projective(n: int) -> int:
    """The number of projective trees over `n` words with any number of root children."""
    return comb(3 * n, n) // (2 * n + 1)


def _count_bounded(n: int, most: int, single_root: bool, root: int | None) -> int:
    """The number of projective trees over `n` words with at most `most` children per word.

    `side[k][c]` counts the ways to arrange `k` adjacent words as `c` subtrees on one side of a
    head, `below[k]` the subtrees of `k` words, headed by any of them.
    """
    most = min(most, n)
    side, below = [[1] + [0] * most], [0]
    any_number = [1]  # as `side`, for the root, whose children are not limited
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
    """The ways to arrange `left` and `right` words on the two sides of a head."""
    most = len(side[0]) - 1
    pairs = [(c, d) for c in range(most + 1) for d in range(most + 1 - c)]
    return sum(side[left][c] * side[right][d] for c, d in pairs)


def _reaches_root(heads: Tensor) -> Tensor:
    """Whether following heads leads every word to the root (no cycles): (T, n) -> (T,)."""
    ancestor = torch.nn.functional.pad(heads, (1, 0))
    for _ in range(heads.shape[-1].bit_length()):  # each iteration doubles the number of steps
        ancestor = ancestor.gather(-1, ancestor)
    return (ancestor == 0).all(-1)


def _has_crossing(heads: Tensor, inside: Tensor) -> Tensor:
    """Whether two arcs cross when drawn above the sentence, the root at position 0: (T,)."""
    words = torch.arange(1, heads.shape[-1] + 1, device=heads.device).expand_as(heads)
    left, right = torch.minimum(heads, words), torch.maximum(heads, words)
    starts_inside = (left[:, :, None] < left[:, None]) & (left[:, None] < right[:, :, None])
    crossing = starts_inside & (right[:, :, None] < right[:, None])
    return (crossing & inside[:, :, None] & inside[:, None]).any(-1).any(-1)
