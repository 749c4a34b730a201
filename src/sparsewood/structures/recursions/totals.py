"""How a recursion adds up alternatives: the sum itself, or one of them drawn at random."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# The score of a part that no structure may use. With -inf a sum over no structure at all would have
# NaN for a gradient. Here exp(FORBIDDEN - s) is exactly 0 next to any score s that can occur, also
# when many are added up, and stays finite until then: scores are at most 1e200 in size, and taking
# one off leaves FORBIDDEN as it is.
FORBIDDEN = -1e300

# (scores of alternatives, the dimension they are along) -> log of the sum of their exponentials.
Total = Callable[[Tensor, int], Tensor]


def logsumexp(x: Tensor, dim: int) -> Tensor:
    """From the largest on: next to a large score the log of a count is lost to rounding, and the
    shares that are the gradient would not sum to one.
    """
    top = x.detach().amax(dim, keepdim=True)
    return torch.logsumexp(x - top, dim) + top.squeeze(dim)


def maximum(x: Tensor, dim: int) -> Tensor:
    """The best alternative alone."""
    return x.amax(dim)


def is_empty(scores: Tensor) -> Tensor:
    """Where a score, or the sum over structures, has a part that is forbidden: bool."""
    return scores < FORBIDDEN / 2


class SampledTotal:
    """`logsumexp` whose gradient goes to one alternative, drawn by its share of the sum.

    The sampling semiring of Rush (2020, "Torch-Struct", section 4): the value is the log-partition
    function, and as every choice of a recursion is made by its own probability given the choices
    above it, the gradient with respect to the scores is the indicator of an exact sample.
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
    """One entry along `dim`, drawn by softmax(x), is 1; the others are 0."""
    sums = x.softmax(dim).cumsum(dim)
    whole = sums.narrow(dim, x.shape[dim] - 1, 1)
    draw = torch.empty_like(whole).uniform_(generator=generator) * whole
    draw = torch.minimum(draw, torch.nextafter(whole, torch.zeros_like(whole)))
    # The first entry whose sum is above the draw: it adds to the sum, so it is no impossible one.
    drawn = (sums <= draw).sum(dim, keepdim=True)
    return torch.zeros_like(x).scatter_(dim, drawn, 1.0)


def pick(x: Tensor, index: Tensor) -> Tensor:
    """`x[b, index[b]]` for each b: (B, N, ...) and (B,) -> (B, ...)."""
    where = index.view(-1, *[1] * (x.ndim - 1)).expand(-1, 1, *x.shape[2:])
    return x.gather(1, where).squeeze(1)
