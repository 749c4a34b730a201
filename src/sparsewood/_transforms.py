"""What torch may be doing around a call: compiling it, or transforming it by `torch.func`."""

import torch
from torch import Tensor
from torch._C import _functorch  # pyright: ignore[reportAttributeAccessIssue]
from torch.autograd import forward_ad


def is_transformed(tensor: Tensor) -> bool:
    """Whether a graph is compiled, `torch.func` is at work, or `tensor` has a tangent.

    Then a tensor cannot be told to require a gradient, and `torch.func.grad` is the way to one.
    """
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return True
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None


def check_not_mapped(name: str, tensor: Tensor) -> None:
    """ValueError under `torch.func.vmap`: values could not be checked."""
    if not torch.compiler.is_compiling() and _functorch.is_batchedtensor(tensor):
        raise ValueError(
            f"{name}: vmap is not supported; the first dimension is a batch already, "
            f"so flatten the mapped one into it (each has shape {tuple(tensor.shape)})"
        )
