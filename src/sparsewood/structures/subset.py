"""Subsets of a fixed or bounded number of items."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from sparsewood._numbers import check_whole
from sparsewood.structures._items import ItemSets
from sparsewood.structures.base import Native
from sparsewood.structures.recursions import Total
from sparsewood.structures.recursions.item_sets import item_sets


@dataclass(frozen=True)
class Subset(ItemSets):
    """Sets of exactly `k`, or of at most `at_most`, out of `n` items.

    The parts are the items: `scores` (B, n). A set is a 0/1 vector, (n,) int64; padding holds 0.

    The MAP oracle takes the `k` best items, in O(n); with `at_most` only those that score above 0.
    Of equal scores the first is taken. The marginals of SparseMAP are the Euclidean projection of
    the scores onto the capped simplex: u in [0, 1]^n with sum u = k, or sum u <= k.

    Args:
        k: how many items each set holds. Exactly one of `k` and `at_most` is given.
        at_most: the most items that a set may hold; the empty set is allowed.

    Example:
        >>> scores = torch.tensor([[0.9, 0.6, 0.1, -0.6]])
        >>> sp.sparsemap(scores, sp.Subset(2)).marginals
        tensor([[1.0000, 0.7500, 0.2500, 0.0000]])
        >>> sp.Subset(at_most=2).argmax(scores - 0.7)
        tensor([[1, 0, 0, 0]])
    """

    k: int | None = None
    at_most: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if (self.k is None) == (self.at_most is None):
            raise ValueError(
                f"Subset: expected either k or at_most, got k={self.k} and at_most={self.at_most}"
            )
        for name, value in (("k", self.k), ("at_most", self.at_most)):
            if value is not None:
                check_whole(f"Subset: {name}", value)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        super().validate(scores, lengths)
        if self.k is None:
            return
        if scores.shape[1] < self.k:
            raise ValueError(
                f"Subset: k = {self.k} items cannot be chosen from scores of shape "
                f"{tuple(scores.shape)}"
            )
        if lengths is None or torch.compiler.is_compiling():
            return
        for b, length in enumerate(lengths.tolist()):
            if length < self.k:
                raise ValueError(
                    f"lengths[{b}] is {length}: instance {b} has fewer than k = {self.k} items "
                    f"(scores of shape {tuple(scores.shape)})"
                )

    def bounds(self, n: int) -> tuple[int, int]:
        if self.k is not None:
            return self.k, self.k
        assert self.at_most is not None
        return 0, min(n, self.at_most)

    def count(self, n: int) -> int:
        """`C(n, k)`, or the sum of `C(n, j)` over `j` from 0 to `at_most`."""
        return super().count(n)

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        fewest, most = self.bounds(scores.shape[1])
        return total(item_sets(scores, total, most)[:, fewest:], -1)

    @property
    def native(self) -> Native:
        if self.k is not None:
            return Native("subset", (self.k, self.k))
        assert self.at_most is not None
        return Native("subset", (0, self.at_most))
