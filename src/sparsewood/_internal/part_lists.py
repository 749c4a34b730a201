"""Structures that are 0/1 tables of their parts, stored as lists of parts."""

from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor

from sparsewood import _native


@dataclass(frozen=True)
class PartLists:
    """Lists of parts, which take far less memory than tables if structures use few parts.

    Attributes:
        used: (T, *) int64, indices into the flattened parts of each structure, -1 after the last.
        shape: the shape of the parts, `*parts`.
    """

    used: Tensor
    shape: tuple[int, ...]

    def __getitem__(self, index: Any) -> "PartLists":
        """The lists at an index of one dimension, such as a slice or a tensor of any shape."""
        return PartLists(self.used[index], self.shape)

    def tables(self, dtype: torch.dtype = torch.int64) -> Tensor:
        """The structures as (T, *parts) 0/1; a MemoryError says if they do not fit."""
        shape, device = (*self.used.shape[:-1], *self.shape), self.used.device
        checked = device.type == "cpu" and not torch.compiler.is_compiling()
        table = _zeros(shape, dtype) if checked else torch.zeros(shape, dtype=dtype, device=device)
        flat = table.reshape(*self.used.shape[:-1], prod(self.shape))
        flat.scatter_add_(-1, self.used.clamp(min=0), (self.used >= 0).to(dtype))
        return table


def _zeros(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """`torch.zeros` on the CPU, or a MemoryError."""
    size = prod(shape) * dtype.itemsize
    cause = None
    if _native.has_memory(size):
        try:
            return torch.zeros(shape, dtype=dtype)
        except RuntimeError as error:  # PyTorch has no class for it
            cause = error
    raise MemoryError(
        f"structures of shape {shape} take {size / 2**20:,.0f} MiB as {dtype} tables, more than "
        "is free: use the marginals, or a few structures by mode, topk or sample"
    ) from cause
