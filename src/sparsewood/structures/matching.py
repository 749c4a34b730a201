"""Matchings: pairs of rows and columns, each row and each column in at most one."""

from dataclasses import dataclass
from math import comb, factorial, perm

import torch
from torch import Tensor

from sparsewood.structures._bipartite import Bipartite, check_sides
from sparsewood.structures._listing import sequences
from sparsewood.structures._one_hot import index_of, one_hot
from sparsewood.structures.base import Native
from sparsewood.structures.recursions import Total

_ENUMERATE_MAX = 6  # enumerate builds (m + 1)**n candidates


@dataclass(frozen=True)
class Matching(Bipartite):
    """One-to-one matchings of `n` rows with `m` columns.

    The parts are pairs: `scores[b, i, j]`, shape (B, n, m), scores row `i` with column `j`. A
    matching is the column of each row, (n,) int64; unmatched rows and padding hold -1.
    `lengths` is (B, 2): the rows and columns of each instance.

    The MAP oracle solves the assignment problem by shortest augmenting paths (Jonker & Volgenant
    1987) in O(k^2 l), with `k` the smaller and `l` the larger of `n` and `m`. If `n = m`, the
    marginals of SparseMAP are the doubly stochastic matrix nearest to the scores.

    Args:
        partial: allow any set of pairs, including the empty set; otherwise every member of the
            smaller side has a partner.

    Example:
        >>> scores = torch.tensor([[[1.0, 0.8], [0.9, 0.4]]])
        >>> sp.Matching().argmax(scores)
        tensor([[1, 0]])
        >>> sp.Matching(partial=True).argmax(-scores)
        tensor([[-1, -1]])
    """

    partial: bool = False

    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        return one_hot(structures, shape[1])

    def decode(self, parts: Tensor, lengths: Tensor | None = None) -> Tensor:
        return index_of(parts)

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (T, n) are matchings of this family: (T,)."""
        sides = torch.tensor([shape]) if lengths is None else lengths
        rows, columns = sides.to(structures).unbind(-1)
        matched = structures >= 0
        inside = torch.arange(shape[0], device=structures.device) < rows[:, None]
        legal = (structures >= -1) & (structures < columns[:, None]) & (inside | ~matched)
        twice = (structures[:, :, None] == structures[:, None]) & matched[:, None]
        legal = legal.all(-1) & (twice.sum((-2, -1)) == matched.sum(-1))
        if self.partial:
            return legal
        return legal & (matched.sum(-1) == torch.minimum(rows, columns))

    def count(self, n: int, m: int) -> int:
        """`l! / (l - k)!` for sides of `k <= l`; partial: the sum of `C(n, k) C(m, k) k!`."""
        check_sides(n, m)
        if not self.partial:
            return perm(max(n, m), min(n, m))
        return sum(comb(n, k) * comb(m, k) * factorial(k) for k in range(min(n, m) + 1))

    def enumerate(self, n: int, m: int) -> Tensor:
        """Every matching, (count(n, m), n) int64 in lexicographic order; n and m at most 6."""
        check_sides(n, m, _ENUMERATE_MAX)
        columns = sequences(range(-1, m), n)
        return columns[self.contains(columns, (n, m))]

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        raise ValueError(
            f"no marginals for {self}: the sum over all matchings is a permanent, which is #P-hard "
            "to compute. sparsewood.sample_matchings draws exact samples, sparsewood.sparsemap "
            "marginals"
        )

    @property
    def has_sums(self) -> bool:
        return False

    @property
    def native(self) -> Native:
        return Native("matching", (self.partial,))

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape[:1]
