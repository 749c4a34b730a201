"""Checks of what the modules are given: a ValueError says what and where."""

import torch
from torch import Tensor

from sparsewood import _lengths


def check_words(x: Tensor, size: int) -> None:
    """Word vectors (*batch, n, size), floating, with n >= 1."""
    if x.ndim < 2 or x.shape[-1] != size or x.shape[-2] == 0 or not x.is_floating_point():
        raise ValueError(
            f"word vectors: expected floating (*batch, n, {size}) with n >= 1 words, "
            f"got {x.dtype} of shape {tuple(x.shape)}"
        )


def check_lengths(lengths: Tensor | None, batch: int, n: int, device: torch.device) -> Tensor:
    """`lengths` as (B,) int64 on `device`, each from 1 to n; all n where None."""
    if lengths is None:
        return torch.full((batch,), n, device=device)
    _lengths.check_lengths(lengths, batch, (n,))
    return lengths.to(device, torch.int64)
