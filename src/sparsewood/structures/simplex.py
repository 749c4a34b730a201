"""The simplex: one out of n items."""

from dataclasses import dataclass

import torch
from torch import Tensor

from sparsewood.structures._items import Items
from sparsewood.structures._one_hot import one_hot
from sparsewood.structures.base import Native
from sparsewood.structures.recursions import Shifted, Total
from sparsewood.structures.recursions.shifted import top


@dataclass(frozen=True)
class Simplex(Items):
    """A choice of one out of `n` items.

    The parts are the items: `scores` (B, n). A structure is the index of the item, () int64. The
    SparseMAP posterior is sparsemax (Martins & Astudillo 2016, "From softmax to sparsemax",
    section 2): the Euclidean projection of the scores onto the probability simplex.

    Example:
        >>> scores = torch.tensor([[0.9, 0.6, 0.1, -0.6]])
        >>> sp.sparsemap(scores, sp.Simplex()).marginals
        tensor([[0.6500, 0.3500, 0.0000, 0.0000]])
    """

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        return one_hot(structures, shape[0])

    def decode(self, parts: Tensor, lengths: Tensor | None = None) -> Tensor:
        return parts.argmax(-1)

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (T,) are indices of one of the first `lengths` items: (T,)."""
        limit = shape[0] if lengths is None else lengths.to(structures)
        return (structures >= 0) & (structures < limit)

    def count(self, n: int) -> int:
        """`n`."""
        return len(self.enumerate(n))

    def enumerate(self, n: int) -> Tensor:
        """Every index below `n`: (n,)."""
        if n < 1:
            raise ValueError(f"expected at least one item, got n = {n}")
        return torch.arange(n)

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        return total(scores, -1)

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        best = top(scores, -1)
        return Shifted(scores - best, best.squeeze(-1))

    @property
    def native(self) -> Native:
        return Native("simplex")
