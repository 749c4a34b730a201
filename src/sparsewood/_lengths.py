"""`lengths`, the sizes of the instances of a batch: the one check of them, and their default."""

from collections.abc import Sequence

import torch
from torch import Tensor

from sparsewood._numbers import check_dense


def check_lengths(lengths: Tensor, batch: int, sizes: Sequence[int] | None = None) -> None:
    """ValueError unless `lengths` holds the size of each of `batch` instances, at least 1.

    Args:
        lengths: integers (B,), or (B, d) where an instance has d > 1 sizes.
        batch: B.
        sizes: the full size of an instance, d numbers. None: known to the caller alone; only the
            dtype and the first dimension are checked.
    """
    check_dense("lengths", lengths)
    if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool:
        raise ValueError(f"lengths: expected an integer dtype, got {lengths.dtype}")
    if sizes is None:
        if lengths.ndim == 0 or len(lengths) != batch:
            raise ValueError(
                f"lengths: expected one entry for each of {batch} instances, "
                f"got shape {tuple(lengths.shape)}"
            )
        return
    expected = (batch,) if len(sizes) == 1 else (batch, len(sizes))
    if lengths.shape != expected:
        raise ValueError(f"lengths: expected shape {expected}, got {tuple(lengths.shape)}")
    if torch.compiler.is_compiling():
        return  # a graph cannot branch on values; the native oracle and solver check them
    for b, row in enumerate(lengths.reshape(batch, len(sizes)).tolist()):
        for length, size in zip(row, sizes, strict=True):
            if not 1 <= length <= size:
                shown = row[0] if len(row) == 1 else tuple(row)
                limit = sizes[0] if len(row) == 1 else tuple(sizes)
                raise ValueError(f"lengths[{b}] is {shown}: expected 1 to {limit}")


def lengths_or_full(lengths: Tensor | None, table: Tensor) -> Tensor:
    """(N,) int64 on the device of `table` (N, n, ...): `lengths` (N,), or `n` each if None."""
    if lengths is None:
        return torch.full((table.shape[0],), table.shape[1], device=table.device)
    return lengths.to(table.device, torch.int64)
