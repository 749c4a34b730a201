"""The hypercube: any set of items."""

from dataclasses import dataclass

import torch
from torch import Tensor

from sparsewood.structures._items import ItemSets
from sparsewood.structures.base import Native
from sparsewood.structures.recursions import Shifted, Total
from sparsewood.structures.recursions.item_sets import all_sets, in_or_out


@dataclass(frozen=True)
class Hypercube(ItemSets):
    """All subsets of `n` items, including the empty set: independent binary choices.

    The parts are the items: `scores` (B, n). A set is a 0/1 vector, (n,) int64; padding holds 0.

    The MAP oracle selects the items that score above 0. The marginals of SparseMAP are the scores
    clipped to [0, 1].

    Example:
        >>> scores = torch.tensor([[-0.5, 0.25, 1.5]])
        >>> sp.sparsemap(scores, sp.Hypercube()).marginals
        tensor([[0.0000, 0.2500, 1.0000]])
    """

    def bounds(self, n: int) -> tuple[int, int]:
        return 0, n

    def count(self, n: int) -> int:
        """`2**n`."""
        return super().count(n)

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        return all_sets(in_or_out(scores), total)

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        best = scores.detach().relu()
        return Shifted(in_or_out(scores) - best.unsqueeze(-1), best.sum(-1))

    def sum_steps(self, steps: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        return all_sets(steps, total)

    def samples(
        self, steps: Tensor, lengths: Tensor | None, n: int, generator: torch.Generator | None
    ) -> Tensor:
        """Each item is taken or not, independently of the others."""
        taken = steps.softmax(-1)[..., 1].expand(n, *steps.shape[:-1])
        drawn = torch.empty_like(taken, memory_format=torch.contiguous_format)
        return (drawn.uniform_(generator=generator) < taken).long()

    def steps_of(self, parts: Tensor) -> Tensor:
        return torch.stack([1 - parts, parts], -1)

    def parts_of(self, steps: Tensor) -> Tensor:
        return steps[..., 1]

    @property
    def native(self) -> Native:
        return Native("subset", (0, -1))
