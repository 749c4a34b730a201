"""Sums over supports that are stored flat, ordered by instance."""

import math

import torch
from torch import Size, Tensor

from sparsewood._internal.batch import BatchShape


def instances(sizes: Tensor, total: int) -> Tensor:
    """(T,) int64: the instance of each entry, for supports of `sizes` that sum to `total`."""
    batch = torch.arange(sizes.numel(), device=sizes.device)
    return batch.repeat_interleave(sizes.flatten(), output_size=total)


def sum_by_instance(values: Tensor, instance: Tensor, batch: Size) -> Tensor:
    """(T, ...) -> (*batch, ...)."""
    flat = values.new_zeros(batch.numel(), *values.shape[1:]).index_add(0, instance, values)
    return BatchShape(batch).restore(flat)


def expectation(values: Tensor, weights: Tensor, instance: Tensor, batch: Size) -> Tensor:
    """The sum of `values` (T, ...) times `weights` (T,) over each instance: (*batch, ...)."""
    if values.ndim == 0 or values.shape[0] != weights.shape[0]:
        raise ValueError(
            f"expect: expected values of shape ({weights.shape[0]}, ...), one per structure of the "
            f"support, got shape {tuple(values.shape)}"
        )
    if not (values.is_floating_point() or values.is_complex()):
        values = values.to(weights.dtype)
    weights = weights.to(values.dtype).reshape(-1, *[1] * (values.ndim - 1))
    return sum_by_instance(weights * values, instance, batch)


def log_expectation(log_values: Tensor, weights: Tensor, instance: Tensor, batch: Size) -> Tensor:
    """The log of the sum of `log_values.exp()` (T,) times `weights` (T,) by instance: (*batch,).

    It does not underflow: with `m` the largest entry of an instance with nonzero weight, the sum of
    `weights * (log_values - m).exp()` is at least the weight of that entry. It does not overflow:
    larger entries with weight 0 are clamped.
    """
    bounds = torch.where(weights > 0, log_values, -torch.inf).detach()
    largest = bounds.new_full((batch.numel(),), -torch.inf)
    largest = largest.scatter_reduce(0, instance, bounds, "amax")
    largest = torch.where(largest.isinf(), 0, largest)
    most = math.log(torch.finfo(log_values.dtype).max) / 2
    relative = (log_values - largest[instance]).clamp(max=most)
    terms = weights.to(log_values.dtype) * relative.exp()
    return largest.reshape(batch) + sum_by_instance(terms, instance, batch).log()
