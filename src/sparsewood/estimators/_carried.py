"""Values with a custom gradient."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor

Rule = Callable[[Tensor], Tensor]


def carried(values: Tensor, carrier: Tensor, rule: Rule | None = None) -> Tensor:
    """`values`, whose gradient goes to `carrier`, a tensor of the same shape.

    Args:
        values: the result of the forward pass.
        carrier: receives the gradient.
        rule: maps the gradient of the values to the gradient of the carrier, in float64 and outside
            of autograd. Default: the identity, which is differentiable.
    """
    return cast(Tensor, _Carried.apply(values, carrier, rule))


class _Carried(torch.autograd.Function):
    @staticmethod
    def forward(values: Tensor, carrier: Tensor, rule: Rule | None) -> Tensor:
        return values.to(carrier.dtype, copy=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.rule = inputs[2]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = gradients
        if ctx.rule is None:
            return None, gradient, None
        with torch.no_grad():
            return None, ctx.rule(gradient.double()).to(gradient.dtype), None
