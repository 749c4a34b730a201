"""Detection of torch transforms around a call, and access to plain values under them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor
from torch._C import _functorch  # pyright: ignore[reportAttributeAccessIssue]
from torch.autograd import forward_ad

Found = TypeVar("Found", Tensor, tuple[Tensor, ...])
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def is_transformed(*tensors: Tensor) -> bool:
    """Whether a graph is compiled, `torch.func` is active, or one of `tensors` has a tangent.

    `requires_grad_` does not work then, but `torch.func.grad` does.
    """
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return True
    return forward_ad._current_level >= 0 and any(
        forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors
    )


def check_not_mapped(what: str, tensor: Tensor) -> None:
    """Raise ValueError if `torch.vmap` maps over `tensor`, as its values could not be checked."""
    if not torch.compiler.is_compiling() and _is_mapped(tensor):
        raise no_vmap(what)


def _is_mapped(tensor: Tensor) -> bool:
    """Whether any of the transforms around `tensor` is `torch.vmap`."""
    while _functorch.is_functorch_wrapped_tensor(tensor):
        if _functorch.is_batchedtensor(tensor):
            return True
        tensor = _functorch.get_unwrapped(tensor)
    return False


def no_vmap(what: str) -> ValueError:
    """The error for `what` under `torch.vmap`."""
    return ValueError(
        f"{what} cannot be mapped over by torch.vmap: scores may have any number of leading batch "
        "dimensions, so pass the whole batch to one call"
    )


def outside_inference_mode(compute: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Run `compute` outside of inference mode, as sums need autograd.

    In inference mode, the result has no graph to the caller's tensors.
    """

    @wraps(compute)
    def run(*args: Arguments.args, **named: Arguments.kwargs) -> Result:
        if torch.compiler.is_compiling() or not torch.is_inference_mode_enabled():
            return compute(*args, **named)
        call: Callable[..., Result] = compute
        with torch.inference_mode(False), torch.no_grad():
            options = {name: _recordable(value) for name, value in named.items()}
            return call(*map(_recordable, args), **options)

    return run


def _recordable(value: Any) -> Any:
    """A clone of inference tensors, which cannot be saved for a backward pass."""
    return value.clone() if isinstance(value, Tensor) and value.is_inference() else value


def on_values(compute: Callable[..., Found], *tensors: Tensor) -> Found:
    """`compute(*tensors)` for code outside of PyTorch, whose results have no derivative.

    Under `torch.func` and in forward mode tensors are wrapped, and only PyTorch can read them;
    `compute` gets the unwrapped values.
    """
    if torch.compiler.is_compiling():
        return compute(*tensors)
    return _OnValues.apply(compute, *tensors)


class _OnValues(torch.autograd.Function):
    @staticmethod
    def forward(compute: Callable[..., Any], *tensors: Tensor) -> Any:
        return compute(*tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        outputs = output if isinstance(output, tuple) else (output,)
        ctx.mark_non_differentiable(*outputs)
        ctx.nothing = (None,) * len(output) if isinstance(output, tuple) else None

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, ...]:
        return (None,) * len(ctx.needs_input_grad)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return ctx.nothing

    @staticmethod
    def vmap(info: Any, in_dims: Any, *tensors: Any) -> None:
        raise no_vmap("a MAP oracle")


def nested() -> AbstractContextManager[object]:
    """Makes `jvp` of an `autograd.Function` differentiable by outer levels of forward mode.

    PyTorch calls `jvp` with forward mode off, so forward-over-forward derivatives would be wrong.
    """
    return forward_ad._set_fwd_grad_enabled(True)
