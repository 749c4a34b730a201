"""Operators that sum the alternatives of a recursion, or sample one of them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# The score of a part that no structure may use. With -inf, the gradient of a sum over no structures
# would be NaN. Scores are at most 1e200 in magnitude, so exp(FORBIDDEN - s) is exactly 0 for any
# score s and any sum of scores, sums of FORBIDDEN stay finite, and subtracting a score leaves
# FORBIDDEN unchanged.
FORBIDDEN = -1e300

# (scores of alternatives, their dimension) -> log of the sum of their exponentials.
Total = Callable[[Tensor, int], Tensor]


def logsumexp(x: Tensor, dim: int) -> Tensor:
    """`torch.logsumexp` relative to the maximum: next to a large score the log of a count is lost
    to rounding, and the shares in the gradient would not sum to one.
    """
    top = x.detach().amax(dim, keepdim=True)
    return torch.logsumexp(x - top, dim) + top.squeeze(dim)


def maximum(x: Tensor, dim: int) -> Tensor:
    """The score of the best alternative."""
    return x.amax(dim)


def is_empty(scores: Tensor) -> Tensor:
    """Where a score, or a sum over structures, includes a forbidden part: bool."""
    return scores < FORBIDDEN / 2


class SampledTotal:
    """`logsumexp` whose gradient goes to one alternative, sampled by its share of the sum.

    The sampling semiring of Rush (2020, "Torch-Struct", section 4). The value is the log-partition
    function. Each choice of the recursion is sampled from its probability given the choices above
    it, so the gradient with respect to the scores is the indicator of an exact sample.
    """

    def __init__(self, generator: torch.Generator | None = None) -> None:
        self.generator = generator

    def __call__(self, x: Tensor, dim: int) -> Tensor:
        return _SampledLogsumexp.apply(x, dim, self.generator)


class _SampledLogsumexp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, generator: torch.Generator | None) -> Tensor:
        ctx.save_for_backward(x)
        ctx.dim, ctx.generator = dim, generator
        return torch.logsumexp(x, dim)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (x,) = ctx.saved_tensors
        return grads[0].unsqueeze(ctx.dim) * sample_one(x, ctx.dim, ctx.generator), None, None


def sample_one(x: Tensor, dim: int, generator: torch.Generator | None) -> Tensor:
    """0/1 with a single 1 along `dim`, sampled from softmax(x)."""
    sums = x.softmax(dim).cumsum(dim)
    whole = sums.narrow(dim, x.shape[dim] - 1, 1)
    draw = torch.empty_like(whole).uniform_(generator=generator) * whole
    draw = torch.minimum(draw, torch.nextafter(whole, torch.zeros_like(whole)))
    # The first entry whose cumulative sum exceeds the draw; its probability is positive.
    drawn = (sums <= draw).sum(dim, keepdim=True)
    return torch.zeros_like(x).scatter_(dim, drawn, 1.0)


def pick(x: Tensor, index: Tensor) -> Tensor:
    """`x[b, index[b]]` for each b: (B, N, ...) and (B,) -> (B, ...)."""
    where = index.view(-1, *[1] * (x.ndim - 1)).expand(-1, 1, *x.shape[2:])
    return x.gather(1, where).squeeze(1)
