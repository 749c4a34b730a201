"""Checks of the scores and the results of sums; in compiled graphs, an operator."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sparsewood._internal.batch import BatchShape
from sparsewood.inference._check import (
    LARGEST,
    check_finite,
    check_magnitude,
    check_positive,
    no_structure_left,
)
from sparsewood.structures.recursions import FORBIDDEN


def potentials(scores: Tensor, reads: Tensor, temperature: float | Tensor) -> Tensor:
    """`scores / temperature` in float64; FORBIDDEN at parts that are forbidden or never read.

    Raises ValueError unless the temperature is positive and all quotients are small enough to be
    summed; in a compiled graph, `check_sums` does. For dtypes whose scores cannot be too large,
    NaN and +inf are detected in the sums.
    """
    look = not torch.compiler.is_compiling() and scores.numel() > 0
    table = torch.where(reads, scores, -torch.inf).double()
    if not isinstance(temperature, Tensor):
        limit = LARGEST * temperature
        if look and torch.finfo(scores.dtype).max > limit:
            finite = table.detach().nan_to_num(nan=torch.nan, posinf=torch.inf, neginf=0.0)
            _check_sizes(finite, limit, scores, reads, temperature)
        return (table if temperature == 1.0 else table / temperature).clamp_(min=FORBIDDEN)
    if look:
        check_positive(temperature)
    usable = table != -torch.inf
    shape = (-1, *[1] * (scores.ndim - 1))
    # -inf must not reach the gradient of the temperature.
    theta = torch.where(usable, table, 0.0) / temperature.double().view(shape)
    if look:
        _check_sizes(theta.detach(), LARGEST, scores, reads, temperature)
    return torch.where(usable, theta, FORBIDDEN)


def _check_sizes(
    table: Tensor, limit: float, scores: Tensor, reads: Tensor, temperature: float | Tensor
) -> None:
    """Check the range of `table`, 0 at unused parts; out of range, find and raise the error."""
    low, high = table.aminmax()
    if -limit <= float(low) <= float(high) <= limit:  # False for NaN
        return
    check_finite(scores, reads)
    if isinstance(temperature, Tensor):
        temperature = temperature.view(-1, *[1] * (scores.ndim - 1))
    usable = reads & (scores != -torch.inf)
    check_magnitude(torch.where(usable, scores, 0.0).double() / temperature, usable)


def check_result(log_sums: Tensor, scores: Tensor, reads: Tensor) -> None:
    """Reject NaN and +inf among the scores by looking at the sums, which they propagate to."""
    if len(log_sums) == 0 or float(log_sums.detach().amin()) > FORBIDDEN / 2:
        return
    check_finite(scores, reads)
    left = log_sums.detach() > FORBIDDEN / 2
    raise no_structure_left(int((~left).nonzero()[0]), scores)


def checked(
    log_sums: Tensor, scores: Tensor, reads: Tensor, temperature: float | Tensor, batch: BatchShape
) -> Tensor:
    """`log_sums` (B,) from `check_sums`."""
    shape = list(batch.shape)
    if isinstance(temperature, Tensor):
        return check_sums(log_sums, scores.detach(), reads, temperature.detach(), 1.0, shape)
    return check_sums(log_sums, scores.detach(), reads, None, temperature, shape)


@torch.library.custom_op("sparsewood::check_sums", mutates_args=())
def check_sums(
    log_sums: Tensor,
    scores: Tensor,
    reads: Tensor,
    each: Tensor | None,
    temperature: float,
    batch: Sequence[int],
) -> Tensor:
    """A copy of `log_sums` (B,) after all checks: a graph cannot branch on values itself.

    `each` (B,) is the temperature per instance, if given; `batch` the batch shape.
    """
    with BatchShape(torch.Size(batch)):
        potentials(scores, reads, temperature if each is None else each)
        check_result(log_sums, scores, reads)
    return log_sums.clone()


@check_sums.register_fake
def _(log_sums: Tensor, *inputs: Any) -> Tensor:
    return torch.empty_like(log_sums)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return grad, *[None] * 5


check_sums.register_autograd(_backward)
