"""Derivatives of functions that PyTorch computes, in reverse mode and of any order.

A function is a hashable object that maps tensors to tensors by differentiable PyTorch code. Its
gradient is such a function as well, computed by `torch.autograd`; so is the gradient of that. Each
derivative is one call on the host.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import torch
from jax.custom_derivatives import SymbolicZero
from torch import Tensor

from sparsewood.jax._host import on_host


class Potential(Protocol):
    """A number per instance: `scores` (*batch, *parts) and further tensors -> (*batch,)."""

    @property
    def ndim(self) -> int:
        """The number of dimensions of the parts."""
        ...

    def __call__(self, scores: Tensor, *rest: Tensor | None) -> Tensor:
        """Differentiable by `torch.autograd`."""
        ...

    def with_slope(self, scores: Tensor, *rest: Tensor | None) -> tuple[Tensor, Tensor]:
        """The potential and its gradient (*batch, *parts), both without graph."""
        ...


Rest = tuple[jax.Array | None, ...]  # arguments without derivative


def _value_of(potential: Potential, scores: jax.Array, rest: Rest) -> jax.Array:
    """The potential of each instance, (*batch,). Also has forward mode, once."""
    return with_slope(potential, scores, rest)[0]


value_of = jax.custom_jvp(_value_of, nondiff_argnums=(0,))


@value_of.defjvp
def _(potential: Potential, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    value, slope = with_slope(potential, *primals)
    along = slope * tangents[0]
    return value, along.sum(tuple(range(value.ndim, along.ndim)))


def _with_slope(potential: Potential, scores: jax.Array, rest: Rest) -> tuple[jax.Array, jax.Array]:
    """The potential of each instance, (*batch,), and its gradient, (*batch, *parts)."""
    batch = scores.shape[: scores.ndim - potential.ndim]
    results = tuple(jax.ShapeDtypeStruct(shape, scores.dtype) for shape in (batch, scores.shape))
    value, slope = on_host(_WithSlope(potential), results, scores, *rest)
    return value, slope


def _forward(potential: Potential, scores: Any, rest: Any) -> tuple[Any, Any]:
    scores, rest = jax.tree.map(lambda given: given.value, (scores, rest))
    value, slope = with_slope(potential, scores, rest)
    return (value, slope), (scores, rest, slope)


def _backward(potential: Potential, kept: Any, grads: Any) -> tuple[jax.Array, None]:
    scores, rest, slope = kept
    on_value, on_slope = grads
    total = jnp.zeros_like(scores)
    if not isinstance(on_value, SymbolicZero):
        total = on_value[(..., *[None] * potential.ndim)] * slope
    if not isinstance(on_slope, SymbolicZero):
        total = total + gradient(_Slope(potential), (scores,), (on_slope,), rest)[0]
    return total, None


with_slope = jax.custom_vjp(_with_slope, nondiff_argnums=(0,))
with_slope.defvjp(_forward, _backward, symbolic_zeros=True)


def _gradient(
    function: Callable[..., Sequence[Tensor]],
    inputs: tuple[jax.Array, ...],
    along: tuple[jax.Array, ...],
    rest: Rest,
) -> tuple[jax.Array, ...]:
    """The gradient of `<along, function(*inputs, *rest)>` in the inputs."""
    results = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in inputs)
    task = _Gradient(function, len(inputs), len(along))
    return on_host(task, results, *inputs, *along, *rest)


def _gradient_forward(function: Any, inputs: Any, along: Any, rest: Any) -> tuple[Any, Any]:
    return gradient(function, inputs, along, rest), (inputs, along, rest)


def _gradient_backward(function: Any, kept: Any, grads: Any) -> tuple[Any, Any, None]:
    inputs, along, rest = kept
    itself = _Gradient(function, len(inputs), len(along))
    found = gradient(itself, (*inputs, *along), tuple(grads), rest)
    return found[: len(inputs)], found[len(inputs) :], None


gradient = jax.custom_vjp(_gradient, nondiff_argnums=(0,))
gradient.defvjp(_gradient_forward, _gradient_backward)


@dataclass(frozen=True)
class _WithSlope:
    potential: Potential

    def __call__(self, scores: Tensor, *rest: Tensor | None) -> tuple[Tensor, Tensor]:
        return self.potential.with_slope(scores, *rest)


@dataclass(frozen=True)
class _Slope:
    potential: Potential

    def __call__(self, scores: Tensor, *rest: Tensor | None) -> tuple[Tensor, ...]:
        value = self.potential(scores, *rest)
        return torch.autograd.grad(value.sum(), scores, create_graph=True)


@dataclass(frozen=True)
class _Gradient:
    """`gradient` on tensors: inputs, directions, and the rest."""

    function: Callable[..., Sequence[Tensor]]
    inputs: int
    along: int

    def __call__(self, *tensors: Any) -> tuple[Tensor, ...]:
        end = self.inputs + self.along
        further = any(tensor.requires_grad for tensor in tensors[:end])
        with torch.enable_grad():
            given = [x if x.requires_grad else x.requires_grad_() for x in tensors[: self.inputs]]
            outputs = self.function(*given, *tensors[end:])
            # An output that is constant has no graph.
            total = sum(
                (y * by).sum()
                for y, by in zip(outputs, tensors[self.inputs : end], strict=True)
                if y.requires_grad
            )
            if not isinstance(total, Tensor):
                return tuple(torch.zeros_like(x) for x in given)
            return torch.autograd.grad(
                total, given, create_graph=further, allow_unused=True, materialize_grads=True
            )
