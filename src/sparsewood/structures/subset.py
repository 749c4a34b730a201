"""Subsets of a fixed or bounded number of items."""

from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood._internal.batch import given_shape, name_entry, name_instance
from sparsewood._internal.host import host_copy
from sparsewood._internal.numbers import check_whole
from sparsewood.structures._items import ItemSets
from sparsewood.structures.base import Native
from sparsewood.structures.recursions import Shifted, Total
from sparsewood.structures.recursions.chart_sums import Chart
from sparsewood.structures.recursions.item_sets import in_or_out, item_sets
from sparsewood.structures.recursions.shifted import or_zero

_CHART_MAX = 1_000_000  # cells; with more, the recursion takes less memory


@dataclass(frozen=True)
class Subset(ItemSets):
    """Sets of exactly `k`, or of at most `at_most`, out of `n` items.

    The parts are the items: `scores` (B, n). A set is a 0/1 vector, (n,) int64; padding holds 0.

    The MAP oracle selects the `k` best items in O(n); with `at_most`, only items that score above
    0. Ties go to the first item. The marginals of SparseMAP are the Euclidean projection of the
    scores onto the capped simplex: u in [0, 1]^n with sum u = k, or sum u <= k.

    Args:
        k: size of each set. Give exactly one of `k` and `at_most`.
        at_most: maximum size of a set; the empty set is allowed.

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
                f"{given_shape(scores.shape)}"
            )
        if lengths is None or torch.compiler.is_compiling():
            return
        count = len(lengths)
        for b, length in enumerate(host_copy(lengths).tolist()):
            if length < self.k:
                raise ValueError(
                    f"{name_entry('lengths', (b,), count)} is {length}: {name_instance(b, count)} "
                    f"has fewer than k = {self.k} items (scores of shape "
                    f"{given_shape(scores.shape)})"
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
        places = torch.zeros_like(scores[:, :1])
        return self.sum_steps(self._steps(scores, places), lengths, total)

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        _, most = self.bounds(scores.shape[1])
        place = or_zero(scores.detach().topk(most).values[:, -1:])  # at most any taken item's score
        if self.k is None:
            place = place.relu()
        rest = scores - place
        best = rest.detach().relu()
        steps = self._steps(rest, -place) - pad(best, (0, 1)).unsqueeze(-1)
        return Shifted(steps, most * place.squeeze(-1) + best.sum(-1))

    def sum_steps(self, steps: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        fewest, most = self.bounds(steps.shape[1] - 1)
        free = torch.arange(most - fewest, -1, -1, device=steps.device)
        sets = item_sets(steps[:, :-1], total, most)[:, fewest:]
        return total(sets + free * steps[:, -1, :1], -1)

    def chart(self, steps: Tensor, lengths: Tensor | None) -> Chart | None:
        n = steps.shape[1] - 1
        full = (n, *self.bounds(n))
        if n * full[2] > _CHART_MAX:
            return None
        return Chart(
            "item_sets", torch.tensor(full, device=steps.device).expand(len(steps), 3), full
        )

    def steps_of(self, parts: Tensor) -> Tensor:
        _, most = self.bounds(parts.shape[1])
        return self._steps(parts, most - parts.sum(-1, keepdim=True), 1 - parts)

    def parts_of(self, steps: Tensor) -> Tensor:
        return steps[:, :-1, 1]

    @staticmethod
    def _steps(items: Tensor, places: Tensor, left_out: Tensor | None = None) -> Tensor:
        """(B, n + 1, 2): each item (B, n) omitted or taken, and each place (B, 1) left empty."""
        rows = in_or_out(items, left_out)
        return torch.cat([rows, pad(places, (0, 1)).unsqueeze(1)], 1)

    @property
    def native(self) -> Native:
        if self.k is not None:
            return Native("subset", (self.k, self.k))
        assert self.at_most is not None
        return Native("subset", (0, self.at_most))
