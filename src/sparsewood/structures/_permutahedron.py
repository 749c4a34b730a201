r"""Euclidean projection onto the convex hull of the orders of some numbers.

For z and w sorted in increasing order, the point of the convex hull of all orders of w that is
nearest to z is `z - v`, where v is the isotonic regression of `z - w`: the nearest nondecreasing
sequence. It is constant on *pools* of adjacent entries, so that in each pool (Blondel, Teboul,
Berthet & Djolonga 2020, "Fast differentiable sorting and ranking", propositions 3 and 4)

    u = z - mean(z) + mean(w)

Only the pools come from native code; all else is torch, with derivatives of any order.
"""

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._internal.threads import get_num_threads


def project(z: Tensor, w: Tensor) -> Tensor:
    """The projection of z (..., n), for w (..., n), both sorted, float64: sorted as well."""
    excess = z - w
    return w + (excess - _mean(excess, pools_of(excess.detach())))


def _mean(x: Tensor, pools: Tensor) -> Tensor:
    """The mean of each pool, at all its entries: (..., n)."""
    zeros = torch.zeros_like(x)
    count = zeros.detach().scatter_add(-1, pools, torch.ones_like(x))
    return (zeros.scatter_add(-1, pools, x) / count.clamp(min=1)).gather(-1, pools)


@torch.library.custom_op("sparsewood::pools", mutates_args=())
def pools_of(x: Tensor) -> Tensor:
    """The pools of the isotonic regression of x (..., n) float64: the first entry of each.

    Raises ValueError for NaN and infinity.
    """
    bad = ~x.isfinite().all(-1)
    if bad.any():
        at = tuple(bad.nonzero()[0].tolist())
        where = f" of instance {at[0] if len(at) == 1 else at}" if at else ""
        raise ValueError(
            f"values / temperature{where}: expected finite numbers, got NaN or infinity"
        )
    table = x.to("cpu").reshape(-1, x.shape[-1]).contiguous()
    pools = torch.empty(table.shape, dtype=torch.int64)
    _native.find_pools(table, pools, get_num_threads())
    return pools.reshape(x.shape).to(x.device)


@pools_of.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x, dtype=torch.int64, memory_format=torch.contiguous_format)


def rankings_of(z: Tensor) -> tuple[Tensor, Tensor]:
    """Rankings (K, n) int64 whose mean with weights (K,) is the projection of z (n,), sorted.

    Affinely independent, K at most n. For the ranks 1 to n; float64 on the CPU.
    """
    w = torch.arange(1, len(z) + 1, dtype=torch.float64)
    excess = z - z[len(z) // 2] - w  # a large score in common would cost digits
    pools = pools_of(excess)
    u = w + (excess - _mean(excess, pools))
    most = len(z) + 1 - int((pools == torch.arange(len(z))).sum())
    rankings, weights = torch.empty(most, len(z), dtype=torch.int64), torch.empty(most).double()
    found = _native.spread(u, pools, rankings, weights)
    return rankings[:found], weights[:found]
