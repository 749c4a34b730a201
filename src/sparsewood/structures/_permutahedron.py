r"""Euclidean projection onto the convex hull of the orders of some numbers.

For z and w sorted in increasing order, the point of the convex hull of all orders of w that is
nearest to z is `z - v`, where v is the isotonic regression of `z - w`: the nearest nondecreasing
sequence. It is constant on *pools* of adjacent entries, so that in each pool (Blondel, Teboul,
Berthet & Djolonga 2020, "Fast differentiable sorting and ranking", propositions 3 and 4)

    u = z - mean(z) + mean(w)

Only the pools come from native code; all else is torch, with derivatives of any order.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._internal.threads import get_num_threads
from sparsewood._internal.transforms import is_transformed


def project(z: Tensor, w: Tensor) -> Tensor:
    """The projection of z (..., n), for w (..., n), both sorted, float64: sorted as well."""
    excess = z - w
    pools = pools_of if is_transformed(excess) else _pools
    return w + (excess - _mean(excess, pools(excess.detach())))


def _mean(x: Tensor, pools: Tensor) -> Tensor:
    """The mean of each pool, at all its entries: (..., n)."""
    if x.device.type == "cpu" and not is_transformed(x):
        return _Mean.apply(x, pools)
    zeros = torch.zeros_like(x)
    count = zeros.detach().scatter_add(-1, pools, torch.ones_like(x))
    return (zeros.scatter_add(-1, pools, x) / count.clamp(min=1)).gather(-1, pools)


class _Mean(torch.autograd.Function):
    """`_mean` in native code; as a linear map it is its own adjoint."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, pools: Tensor) -> Tensor:
        ctx.save_for_backward(pools)
        means = torch.empty_like(x, memory_format=torch.contiguous_format)
        flat, where, out = (
            table.reshape(-1, x.shape[-1]) for table in (x.contiguous(), pools, means)
        )
        _native.pool_means(flat, where, out)
        return means

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (pools,) = ctx.saved_tensors
        return _mean(grads[0], pools), None


def soft_ranks(values: Tensor, scale: float) -> Tensor:
    """The projection of `scale * values` (..., n) onto the orders of 1, ..., n: float64."""
    if values.device.type == "cpu" and not is_transformed(values):
        return _SoftRanks.apply(values, scale)
    z, order = values.sort(dim=-1, stable=True, descending=scale < 0)
    z = z.double() * scale
    middle = z.shape[-1] // 2  # a large value in common would cost digits
    w = torch.arange(1, z.shape[-1] + 1, dtype=z.dtype, device=z.device)
    u = project(z - z[..., middle : middle + 1].detach(), w)
    return torch.zeros_like(u).scatter(-1, order, u)


class _SoftRanks(torch.autograd.Function):
    """`soft_ranks` in native code, one pass after the sort."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, scale: float) -> Tensor:
        z, order = values.sort(dim=-1, stable=True, descending=scale < 0)
        z, order = (table.reshape(-1, values.shape[-1]) for table in (z.double(), order))
        ranks, pools = torch.empty_like(z), torch.empty_like(order)
        bad = _native.soft_rank(z, order, scale, pools, ranks, get_num_threads())
        _check_row(bad, values.shape)
        ctx.save_for_backward(pools, order)
        ctx.scale, ctx.dtype = scale, values.dtype
        return ranks.reshape(values.shape)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        pools, order = ctx.saved_tensors
        return _centred(grads[0], pools, order, ctx.scale).to(ctx.dtype), None


def _centred(x: Tensor, pools: Tensor, order: Tensor, scale: float) -> Tensor:
    """`scale` times x (..., n) less its mean over each pool of the sorted order (B, n): float64."""
    if not is_transformed(x):
        return _Centred.apply(x, pools, order, scale)
    pools, order = pools.reshape(x.shape), order.reshape(x.shape)
    ordered = x.double().gather(-1, order)
    rest = scale * (ordered - _mean(ordered, pools))
    return torch.zeros_like(rest).scatter(-1, order, rest)


class _Centred(torch.autograd.Function):
    """`_centred` in native code; as a linear map it is its own adjoint."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, pools: Tensor, order: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(pools, order)
        ctx.scale = scale
        rows = x.double().reshape(order.shape).contiguous()
        out = torch.empty_like(rows)
        _native.centre_ranks(rows, pools, order, scale, out, get_num_threads())
        return out.reshape(x.shape)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        pools, order = ctx.saved_tensors
        return _centred(grads[0], pools, order, ctx.scale), None, None, None


def _pools(x: Tensor) -> Tensor:
    """The pools of the isotonic regression of x (..., n) float64: the first entry of each.

    Raises ValueError for NaN and infinity.
    """
    table = x.to("cpu").reshape(-1, x.shape[-1]).contiguous()
    pools = torch.empty(table.shape, dtype=torch.int64)
    _check_row(_native.find_pools(table, pools, get_num_threads()), x.shape)
    return pools.reshape(x.shape).to(x.device)


def _check_row(bad: int, shape: torch.Size) -> None:
    """Raise ValueError if there is a row with values that are not finite; -1: there is none."""
    if bad < 0:
        return
    at = tuple(int(i) for i in np.unravel_index(bad, shape[:-1])) if len(shape) > 1 else ()
    where = f" of instance {at[0] if len(at) == 1 else at}" if at else ""
    raise ValueError(f"values / temperature{where}: expected finite numbers, got NaN or infinity")


# For compiled graphs and transforms.
pools_of = torch.library.custom_op("sparsewood::pools", mutates_args=())(_pools)


@pools_of.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x, dtype=torch.int64, memory_format=torch.contiguous_format)


def rankings_of(z: Tensor) -> tuple[Tensor, Tensor]:
    """Rankings (K, n) int64 whose mean with weights (K,) is the projection of z (n,), sorted.

    Affinely independent, K at most n. For the ranks 1 to n; float64 on the CPU.
    """
    w = torch.arange(1, len(z) + 1, dtype=torch.float64)
    excess = z - z[len(z) // 2] - w  # a large score in common would cost digits
    pools = _pools(excess)
    u = w + (excess - _mean(excess, pools))
    most = len(z) + 1 - int((pools == torch.arange(len(z))).sum())
    rankings, weights = torch.empty(most, len(z), dtype=torch.int64), torch.empty(most).double()
    found = _native.spread(u, pools, rankings, weights)
    return rankings[:found], weights[:found]
