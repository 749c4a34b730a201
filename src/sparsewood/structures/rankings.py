"""Rankings: all orders of some items."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations
from math import factorial

import torch
from torch import Tensor

from sparsewood.structures._items import check_items, read_items
from sparsewood.structures._k_rankings import k_rankings
from sparsewood.structures._listing import check_count
from sparsewood.structures._permutahedron import rankings_of
from sparsewood.structures.base import Structure
from sparsewood.structures.recursions import FORBIDDEN, Shifted, Total
from sparsewood.structures.recursions.shifted import top

_SUMS_MAX = 12  # items: the recursion visits all subsets
_ENTRIES_MAX = 2**28  # numbers in the rankings of one instance that sparsemap keeps


@dataclass(frozen=True)
class Rankings(Structure):
    """All orders of `n` items.

    The parts are the items, and how much a ranking uses an item is its rank: 1 for the first, `n`
    for the last. `scores` (B, n) has one score per item; a ranking is the rank of each item, (n,)
    int64; padding holds 0. The score of a ranking is the sum of scores times ranks, so the best one
    sorts the items: the largest score gets rank `n`. Every ranking uses all items, so none may be
    forbidden by -inf.

    The MAP oracle sorts, O(n log n); of equal scores, the first gets the lower rank. The marginals
    of SparseMAP are expected ranks: the projection of the scores onto the permutahedron, by
    isotonic regression (Blondel, Teboul, Berthet & Djolonga 2020, "Fast differentiable sorting and
    ranking"). The posterior holds at most `n` rankings, which are found in closed form; this takes
    O(n^2) memory, and up to O(n^3) time for the gradient. `soft_rank` computes only the marginals,
    in O(n log n).

    The sum over all rankings is the permanent of a Vandermonde matrix. It is computed for up to 12
    items, in O(2^n n). `Perturbed(noise="gumbel")` samples the best rankings of perturbed scores,
    the Plackett-Luce model, for any number; that is another distribution.

    Example:
        >>> scores = torch.tensor([[0.2, 3.0, 0.6]])
        >>> sp.map(scores, sp.Rankings()).structures
        tensor([[1, 3, 2]])
        >>> sp.sparsemap(scores, sp.Rankings()).marginals
        tensor([[1.3000, 3.0000, 1.7000]])
    """

    parts_ndim = 1
    binary = False

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        reads = self.reads(scores, lengths)
        order = torch.where(reads, scores.detach(), torch.inf).argsort(dim=-1, stable=True)
        ranks = torch.arange(1, scores.shape[-1] + 1, device=scores.device).expand(scores.shape)
        return torch.where(reads, torch.empty_like(order).scatter(-1, order, ranks), 0)

    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        return structures.to(torch.float64)

    def decode(self, parts: Tensor, lengths: Tensor | None = None) -> Tensor:
        return parts.round().to(torch.int64)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        check_items(scores, lengths)

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        return read_items(scores, lengths)

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    def full_size(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (T, n) rank the first `lengths` items, and hold 0 after them: (T,)."""
        reads = self.reads(structures, lengths)
        ranks = torch.where(reads, structures, torch.iinfo(torch.int64).max).sort(-1).values
        places = torch.arange(1, shape[0] + 1, device=structures.device)
        return ((ranks == places) == reads).all(-1) & ((structures == 0) | reads).all(-1)

    def count(self, n: int) -> int:
        """`n!`."""
        if n < 1:
            raise ValueError(f"expected at least one item, got n = {n}")
        return factorial(n)

    def enumerate(self, n: int) -> Tensor:
        """Every ranking, (n!, n) int64 in lexicographic order; n at most 7."""
        check_count(self.count(n), "rankings", f"of {n} items")
        return torch.tensor(list(permutations(range(1, n + 1))))

    def kbest(self, scores: Tensor, lengths: Tensor | None, k: int) -> tuple[Tensor, Tensor]:
        """The k best rankings of each instance, by swaps of the sorted order."""
        return k_rankings(scores, lengths, k)

    def spanning(self, theta: Tensor, length: Tensor | None) -> tuple[Tensor, Tensor]:
        n = len(theta) if length is None else int(length)
        if n * n > _ENTRIES_MAX:
            raise ValueError(
                f"sparsemap keeps up to n rankings of n items, too many for n = {n}: limit them by "
                "max_active or max_support, or use soft_rank, which computes the marginals alone"
            )
        z, order = theta[:n].sort(stable=True)
        rankings, weights = rankings_of(z)
        structures = torch.zeros(len(rankings), len(theta), dtype=torch.int64)
        structures[:, order] = rankings
        return structures, weights

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        n = scores.shape[1]
        if n > _SUMS_MAX:
            raise ValueError(
                f"no marginals for {self} of {n} items: the sum over all rankings is a permanent, "
                f"computed for at most {_SUMS_MAX} items; sparsewood.sparsemap and "
                "sparsewood.soft_rank give marginals for any number"
            )
        reads = self.reads(scores, lengths)
        sums = torch.zeros_like(scores[:, :1])
        for rank, (before, item, in_order) in enumerate(_layers(n, scores.device), 1):
            # Padding takes the last ranks, in order.
            rest = torch.full_like(item, FORBIDDEN, dtype=scores.dtype).masked_fill(in_order, 0.0)
            terms = torch.where(reads[:, item], rank * scores[:, item], rest)
            sums = total(sums[:, before] + terms, -1)
        return sums.squeeze(-1)

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        best = top(scores, -1)
        n = self.reads(scores, lengths).sum(-1)
        return Shifted(scores - best, best.squeeze(-1) * (n * (n + 1) / 2))


@lru_cache(maxsize=32)
def _layers(n: int, device: torch.device) -> list[tuple[Tensor, Tensor, Tensor]]:
    """For r = 1 to n, the ways to complete each set of r items: three tables (C(n, r), r).

    The index of the set without one of its items, that item, and whether the set is the first `r`
    items and that item the last of them.
    """
    layers: list[tuple[Tensor, Tensor, Tensor]] = []
    index: dict[tuple[int, ...], int] = {(): 0}
    for r in range(1, n + 1):
        sets = list(combinations(range(n), r))
        before = [[index[one[:i] + one[i + 1 :]] for i in range(r)] for one in sets]
        first = [[one[i] == i == r - 1 for i in range(r)] for one in sets]
        with torch.inference_mode(False):  # other calls reuse the tensors
            a, b, c = (torch.tensor(table, device=device) for table in (before, sets, first))
        layers.append((a, b, c))
        index = {one: i for i, one in enumerate(sets)}
    return layers
