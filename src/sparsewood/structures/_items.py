"""Families over `n` items whose parts are the items themselves."""

from abc import abstractmethod
from math import comb

import torch
from torch import Tensor

from sparsewood._internal.batch import given_shape
from sparsewood._internal.lengths import check_lengths, lengths_or_full
from sparsewood.structures._listing import sequences
from sparsewood.structures.base import Native, NativeStructure, OwnParts

_ENUMERATE_MAX = 16  # enumerate builds 2**n candidates
_ITEMS_MAX = 30_000  # the native solver counts items in 16 bits


class Items(NativeStructure):
    """One score per item: `scores` (B, n); `lengths` (B,) is the number of items."""

    parts_ndim = 1

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        check_items(scores, lengths)

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        return read_items(scores, lengths)


def check_items(scores: Tensor, lengths: Tensor | None) -> None:
    """Raise ValueError unless scores (B, n) and the numbers of items (B,) fit."""
    shape = tuple(scores.shape)
    if scores.ndim != 2 or not 1 <= shape[1] <= _ITEMS_MAX:
        raise ValueError(
            f"item scores: expected (*batch, n) with 1 to {_ITEMS_MAX} items, got shape "
            f"{given_shape(shape)}"
        )
    if not scores.is_floating_point():
        raise ValueError(f"item scores: expected a floating dtype, got {scores.dtype}")
    if lengths is not None:
        check_lengths(lengths, len(scores), shape[1:])


def read_items(scores: Tensor, lengths: Tensor | None) -> Tensor:
    """The items before the length of each instance: bool (B, n)."""
    items = torch.arange(scores.shape[1], device=scores.device)
    return items < lengths_or_full(lengths, scores)[:, None]


class ItemSets(OwnParts, Items):
    """Sets of items as 0/1 vectors (n,). Each family limits the size of a set: see `bounds`."""

    @abstractmethod
    def bounds(self, n: int) -> tuple[int, int]:
        """The minimum and maximum size of a set out of `n` items."""

    @property
    @abstractmethod
    def native(self) -> Native:
        """The family `subset`. Options: minimum and maximum size, -1 for all items."""

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (T, n) are 0/1 vectors of this family, zero after the first `lengths`: (T,)."""
        inside = self.reads(structures, lengths)
        legal = (structures == 0) | ((structures == 1) & inside)
        held = structures.sum(-1)
        fewest, most = self.bounds(shape[0])  # shorter instances hold at most their own items
        return legal.all(-1) & (fewest <= held) & (held <= most)

    def count(self, n: int) -> int:
        """The sum of the binomial coefficients `C(n, k)` over the allowed sizes `k`."""
        if n < 1:
            raise ValueError(f"expected at least one item, got n = {n}")
        fewest, most = self.bounds(n)
        return sum(comb(n, k) for k in range(fewest, most + 1))

    def enumerate(self, n: int) -> Tensor:
        """Every set out of `n` items, (count(n), n) in lexicographic order; n at most 16."""
        if not 1 <= n <= _ENUMERATE_MAX:
            raise ValueError(f"enumerate: expected 1 to {_ENUMERATE_MAX} items, got n = {n}")
        everything = sequences((0, 1), n)
        return everything[self.contains(everything, (n,))]
