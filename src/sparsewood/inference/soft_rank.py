"""Differentiable ranks and sorted values: projections onto the permutahedron."""

import torch
from torch import Tensor

from sparsewood._internal.numbers import check_dense, check_real
from sparsewood.structures._permutahedron import project, soft_ranks


def soft_rank(values: Tensor, *, temperature: float = 1.0, descending: bool = False) -> Tensor:
    r"""Differentiable ranks, from 1 to n: the marginals of SparseMAP over `Rankings`.

        argmin_u ||u - values / temperature||^2   over the convex hull of all orders of 1, ..., n

    (Blondel, Teboul, Berthet & Djolonga 2020, "Fast differentiable sorting and ranking", equation
    5, with the quadratic regularisation and `temperature` as its strength). Takes O(n log n) time
    and O(n) memory, without the rankings themselves. The lower the temperature, the closer to the
    ranks of `values`; once neighbouring values differ by the temperature or more, they are exact.

    Args:
        values: (*batch, n), floating; ranked along the last dimension.
        temperature: a positive number.
        descending: whether the largest value has rank 1; default: the smallest.

    Returns:
        (*batch, n) in the dtype of `values`, computed in float64; differentiable any number of
        times (piecewise linear). Sums to `n (n + 1) / 2`.

    Raises:
        ValueError: no floating tensor with at least one value; NaN or infinity among the values,
            which names the instance.

    Example:
        >>> values = torch.tensor([0.2, 3.0, 0.6])
        >>> sp.soft_rank(values)
        tensor([1.3000, 3.0000, 1.7000])
        >>> sp.soft_rank(values, temperature=0.1)
        tensor([1., 3., 2.])
    """
    temperature = _check(values, temperature)
    return soft_ranks(values, (-1.0 if descending else 1.0) / temperature).to(values.dtype)


def soft_sort(values: Tensor, *, temperature: float = 1.0, descending: bool = False) -> Tensor:
    r"""Differentiable sorted values.

        argmin_u ||u - (1, ..., n) / temperature||^2   over the convex hull of orders of `values`

    (Blondel, Teboul, Berthet & Djolonga 2020, "Fast differentiable sorting and ranking", equation
    4, with the quadratic regularisation and `temperature` as its strength). Takes O(n log n) time
    and O(n) memory. The lower the temperature, the closer to `values.sort()`; where neighbouring
    values differ by at most 1 / temperature, they are exact, and higher temperatures draw the
    values together.

    Args:
        values: (*batch, n), floating; sorted along the last dimension.
        temperature: a positive number.
        descending: whether the largest value comes first; default: the smallest.

    Returns:
        (*batch, n) in the dtype of `values`, computed in float64; differentiable any number of
        times (piecewise linear). Has the sum of `values`.

    Raises:
        ValueError: as for `soft_rank`.

    Example:
        >>> sp.soft_sort(torch.tensor([0.2, 3.0, 0.6]))
        tensor([0.2667, 1.2667, 2.2667])
        >>> sp.soft_sort(torch.tensor([0.2, 3.0, 0.6]), temperature=0.1)
        tensor([0.2000, 0.6000, 3.0000])
    """
    temperature = _check(values, temperature)
    w = values.sort(dim=-1, stable=True).values.double()
    u = project((_ranks(w) / temperature).expand(w.shape), w)
    return (u.flip(-1) if descending else u).to(values.dtype)


def _check(values: Tensor, temperature: float) -> float:
    check_dense("values", values)
    if not values.is_floating_point():
        raise ValueError(f"values: expected a floating dtype, got {values.dtype}")
    if values.ndim == 0 or values.shape[-1] == 0:
        raise ValueError(
            f"values: expected (*batch, n) with n at least 1, got shape {tuple(values.shape)}"
        )
    return check_real("temperature", temperature, positive=True)


def _ranks(values: Tensor) -> Tensor:
    """(n,) 1 to n."""
    return torch.arange(1, values.shape[-1] + 1, dtype=values.dtype, device=values.device)
