"""Checks of the inputs of modules; they raise ValueError."""

from typing import Literal

import torch
from torch import Tensor, nn

from sparsewood._internal import lengths as _lengths
from sparsewood._internal.host import as_int64


def check_words(x: Tensor, size: int) -> None:
    """Require word vectors (*batch, n, size), floating, with n >= 1."""
    if x.ndim < 2 or x.shape[-1] != size or x.shape[-2] == 0 or not x.is_floating_point():
        raise ValueError(
            f"word vectors: expected floating (*batch, n, {size}) with n >= 1 words, "
            f"got {x.dtype} of shape {tuple(x.shape)}"
        )


def check_lengths(lengths: Tensor | None, batch: int, n: int, device: torch.device) -> Tensor:
    """`lengths` as (B,) int64 on `device`, checked to be from 1 to n; None: all n."""
    if lengths is None:
        return _lengths.full_lengths(batch, n, device)
    _lengths.check_lengths(lengths, batch, (n,))
    return as_int64(lengths, device)


def masked_words(x: Tensor, lengths: Tensor | None, size: int) -> tuple[Tensor, Tensor]:
    """Word vectors (B, n, size) with zeros for padding, and lengths (B,)."""
    check_words(x, size)
    if x.ndim != 3:
        raise ValueError(f"word vectors: expected (B, n, {size}), got shape {tuple(x.shape)}")
    batch, n = x.shape[:2]
    lengths = check_lengths(lengths, batch, n, x.device)
    inside = torch.arange(n, device=x.device) < lengths[:, None]
    return x.masked_fill(~inside[..., None], 0), lengths


def root_vector(root: Literal["zero", "learned"], size: int) -> nn.Parameter | None:
    """The input vector of root nodes, which have no word: None for zeros, or (size,) to learn."""
    if root not in ("zero", "learned"):
        raise ValueError(f"root: expected 'zero' or 'learned', got {root!r}")
    return nn.Parameter(torch.zeros(size)) if root == "learned" else None
