"""One-hot encoding of indices, and its inverse."""

import torch
from torch import Tensor


def one_hot(index: Tensor, size: int) -> Tensor:
    """(...) int64 -> (..., size) float64, 1 at the index; all zeros for index -1."""
    return (index.unsqueeze(-1) == torch.arange(size, device=index.device)).to(torch.float64)


def index_of(parts: Tensor) -> Tensor:
    """The inverse of `one_hot`: (..., size) 0/1 -> (...) int64, -1 where all are zero."""
    return torch.where(parts.any(-1), parts.argmax(-1), -1)
