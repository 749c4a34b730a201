"""Checks of what is summed over, and of the sums: in a compiled graph as an operator."""

from typing import Any

import torch
from torch import Tensor

from sparsewood.inference._check import (
    LARGEST,
    check_finite,
    check_magnitude,
    check_positive,
    no_structure_left,
)
from sparsewood.structures.recursions import FORBIDDEN


def check_potentials(scores: Tensor, reads: Tensor, temperature: float | Tensor) -> None:
    """ValueError unless the temperature is positive, and no score over it too large to be summed.

    NaN and +inf among scores that need no such look, being of a small dtype, show in the sums.
    """
    if isinstance(temperature, Tensor):
        check_positive(temperature)
    elif torch.finfo(scores.dtype).max <= LARGEST * temperature:
        return
    usable = reads & (scores.detach() != -torch.inf)
    theta = torch.where(usable, scores.detach(), 0.0).double()
    if isinstance(temperature, Tensor):
        theta /= temperature.detach().double().view(-1, *[1] * (scores.ndim - 1))
    else:
        theta /= temperature
    if theta.numel() == 0:
        return
    low, high = theta.aminmax()
    if not -LARGEST <= float(low) <= float(high) <= LARGEST:  # NaN is in no order
        check_finite(scores, reads)
        check_magnitude(theta, reads)


def check_result(log_sums: Tensor, scores: Tensor, reads: Tensor) -> None:
    """NaN and +inf among the scores show in the sums, so one look at those is enough."""
    if len(log_sums) == 0 or float(log_sums.detach().amin()) > FORBIDDEN / 2:
        return
    check_finite(scores, reads)
    left = log_sums.detach() > FORBIDDEN / 2
    raise no_structure_left(int((~left).nonzero()[0]), scores)


def checked(log_sums: Tensor, scores: Tensor, reads: Tensor, temperature: float | Tensor) -> Tensor:
    """`log_sums` (B,) from `check_sums`."""
    if isinstance(temperature, Tensor):
        return check_sums(log_sums, scores.detach(), reads, temperature.detach(), 1.0)
    return check_sums(log_sums, scores.detach(), reads, None, temperature)


@torch.library.custom_op("sparsewood::check_sums", mutates_args=())
def check_sums(
    log_sums: Tensor, scores: Tensor, reads: Tensor, each: Tensor | None, temperature: float
) -> Tensor:
    """A copy of `log_sums` (B,) once all is checked: a graph cannot branch on values itself.

    `each` (B,) is the temperature where instances have their own.
    """
    check_potentials(scores, reads, temperature if each is None else each)
    check_result(log_sums, scores, reads)
    return log_sums.clone()


@check_sums.register_fake
def _(
    log_sums: Tensor, scores: Tensor, reads: Tensor, each: Tensor | None, temperature: float
) -> Tensor:
    return torch.empty_like(log_sums)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
    return grad, None, None, None, None


check_sums.register_autograd(_backward)
