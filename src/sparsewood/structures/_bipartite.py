"""Families whose parts are pairs of a row and a column."""

import torch
from torch import Tensor

from sparsewood._internal.batch import given_shape
from sparsewood.structures.base import NativeStructure

_SIDE_MAX = 30_000  # the native solver counts options in 16 bits


class Bipartite(NativeStructure):
    """One score per pair: `scores` (B, n, m); `lengths` (B, 2) counts rows and columns."""

    parts_ndim = 2

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        shape = tuple(scores.shape)
        if scores.ndim != 3 or not all(1 <= side <= _SIDE_MAX for side in shape[1:]):
            raise ValueError(
                f"pair scores: expected (*batch, n, m) with n and m from 1 to {_SIDE_MAX}, "
                f"got shape {given_shape(shape)}"
            )
        self.check_dtype_and_lengths("pair scores", scores, lengths)

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        if lengths is None:
            return torch.ones_like(scores, dtype=torch.bool)
        rows, columns = (torch.arange(side, device=scores.device) for side in scores.shape[1:])
        limits = lengths.to(scores.device)[:, None]
        return (rows < limits[..., 0])[:, :, None] & (columns < limits[..., 1])[:, None]

    def full_size(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape


def check_sides(n: int, m: int, most: int | None = None) -> None:
    """Raise ValueError unless both sides have at least one member and at most `most`."""
    if n < 1 or m < 1:
        raise ValueError(f"expected at least one row and one column, got ({n}, {m})")
    if most is not None and max(n, m) > most:
        raise ValueError(f"enumerate: expected at most {most} rows and columns, got ({n}, {m})")
