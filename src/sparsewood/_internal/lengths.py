"""Checks and defaults of `lengths`, the sizes of the instances of a batch."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Size, Tensor

from sparsewood._internal.batch import given_shape, name_entry
from sparsewood._internal.host import as_int64, host_copy, remember
from sparsewood._internal.numbers import check_dense


def shared_lengths(lengths: Tensor, batch: Size, sizes: int | None) -> Tensor:
    """Expand `lengths` along missing last batch dimensions: a view.

    Lengths (B,) fit a batch (B, heads), for example. Other shapes are returned unchanged, for later
    checks.

    Args:
        lengths: (*batch,), or (*batch, d) if an instance has d > 1 sizes.
        batch: the batch shape.
        sizes: d; None: unknown, treated as 1.
    """
    own = lengths.shape[: lengths.ndim - (sizes is not None and sizes > 1)]
    if not 0 < len(own) < len(batch) or own != batch[: len(own)]:
        return lengths
    rest = lengths.shape[len(own) :]
    return lengths.reshape(*own, *[1] * (len(batch) - len(own)), *rest).expand(*batch, *rest)


def check_lengths(lengths: Tensor, batch: int, sizes: Sequence[int] | None = None) -> None:
    """Raise ValueError unless `lengths` holds the size of each of `batch` instances, at least 1.

    Args:
        lengths: integers (B,), or (B, d) if an instance has d > 1 sizes.
        batch: B.
        sizes: the full size of an instance, d numbers. None: unknown; check only the dtype and the
            first dimension.
    """
    check_dense("lengths", lengths)
    if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool:
        raise ValueError(f"lengths: expected an integer dtype, got {lengths.dtype}")
    if sizes is None:
        if lengths.ndim == 0 or len(lengths) != batch:
            raise ValueError(
                f"lengths: expected {batch} entries, one per instance, "
                f"got shape {given_shape(lengths.shape)}"
            )
        return
    expected = (batch,) if len(sizes) == 1 else (batch, len(sizes))
    if lengths.shape != expected:
        raise ValueError(
            f"lengths: expected shape {given_shape(expected)}, got {given_shape(lengths.shape)}"
        )
    if torch.compiler.is_compiling():
        return  # a graph cannot branch on values; the native oracle and solver check them
    # By a list: tensors are wrapped under torch.func, and NumPy cannot read them.
    rows = np.array(host_copy(lengths).tolist()).reshape(batch, len(sizes))
    bad = ((rows < 1) | (rows > sizes)).any(1)
    if bad.any():
        b = int(bad.argmax())
        shown, limit = tuple(rows[b].tolist()), tuple(sizes)
        if len(limit) == 1:
            (shown,), (limit,) = shown, limit
        raise ValueError(f"{name_entry('lengths', (b,), batch)} is {shown}: expected 1 to {limit}")


def lengths_or_full(lengths: Tensor | None, table: Tensor) -> Tensor:
    """(N,) int64 on the device of `table` (N, n, ...): `lengths` (N,), or `n` each if None."""
    if lengths is None:
        return full_lengths(table.shape[0], table.shape[1], table.device)
    return as_int64(lengths, table.device)


def full_lengths(batch: int, n: int, device: torch.device) -> Tensor:
    """(batch,) int64 on `device`, `n` each."""
    lengths = torch.full((batch,), n, device=device)
    if device.type == "cpu" or torch.compiler.is_compiling():
        return lengths
    return remember(lengths, torch.full((batch,), n))
