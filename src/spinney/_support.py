"""Sums over supports stored flat: those of instance 0 first."""

import torch
from torch import Tensor


def instances(sizes: Tensor, total: int) -> Tensor:
    """(T,) int64: the instance of each entry, for supports of `sizes` (B,) that sum to `total`."""
    batch = torch.arange(len(sizes), device=sizes.device)
    return batch.repeat_interleave(sizes, output_size=total)


def sum_by_instance(values: Tensor, instance: Tensor, batch: int) -> Tensor:
    """(T, ...) -> (B, ...)."""
    return values.new_zeros(batch, *values.shape[1:]).index_add(0, instance, values)


def expectation(values: Tensor, weights: Tensor, instance: Tensor, batch: int) -> Tensor:
    """The sum of `values` (T, ...) times `weights` (T,) over each instance: (B, ...)."""
    if values.ndim == 0 or len(values) != len(weights):
        raise ValueError(
            f"expect: the first dimension of values runs over the {len(weights)} "
            f"structures of the support, got shape {tuple(values.shape)}"
        )
    if not (values.is_floating_point() or values.is_complex()):
        values = values.to(weights.dtype)
    weights = weights.to(values.dtype).reshape(-1, *[1] * (values.ndim - 1))
    return sum_by_instance(weights * values, instance, batch)
