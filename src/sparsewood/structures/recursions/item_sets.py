"""Sets of items by size: elementary symmetric polynomials."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood.structures.recursions.totals import FORBIDDEN, Total


def in_or_out(items: Tensor, left_out: Tensor | None = None) -> Tensor:
    """(B, n, 2): the scores of omitting each item (0 by default) and of taking it."""
    return torch.stack([torch.zeros_like(items) if left_out is None else left_out, items], -1)


def item_sets(items: Tensor, total: Total, most: int) -> Tensor:
    """The totals over all sets of 0, 1, ..., `most` items: (B, n, 2) -> (B, most + 1).

    Each item is a polynomial `exp(left out) + exp(taken) x`. In their product the coefficient of
    x^k sums the sets of k items. It is computed by pairwise products, dropping powers above `most`.
    If `most` exceeds n, the remaining entries are FORBIDDEN.
    """
    table = items  # (B, polynomials, coefficients)
    while table.shape[1] > 1:
        if table.shape[1] % 2:
            one = torch.full_like(table[:, :1], FORBIDDEN)
            one[..., 0] = 0.0
            table = torch.cat([table, one], 1)
        table = _product(table[:, ::2], table[:, 1::2], total, most)
    table = table[:, 0, : most + 1]
    return pad(table, (0, most + 1 - table.shape[1]), value=FORBIDDEN)


def all_sets(items: Tensor, total: Total) -> Tensor:
    """The total over all sets of items: (B, n, 2) -> (B,)."""
    return total(items, -1).sum(-1)


def _product(left: Tensor, right: Tensor, total: Total, most: int) -> Tensor:
    """Products of polynomials (..., p) with (..., p), up to the power `most`."""
    size = left.shape[-1]
    power = torch.arange(min(2 * size - 1, most + 1), device=left.device)[:, None]
    other = power - torch.arange(size, device=left.device)  # [power, power taken from left]
    inside = (other >= 0) & (other < size)
    factor = torch.where(inside, right[..., torch.where(inside, other, 0)], FORBIDDEN)
    return total(left.unsqueeze(-2) + factor, -1)
