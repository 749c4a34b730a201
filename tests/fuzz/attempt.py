"""Makes calls, and writes code that reproduces them."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

from tests.fuzz.case import BrokenError, Case

Result = TypeVar("Result")


class RefusedError(Exception):
    """The call raised an error, as expected."""


def attempt(wrong: str | None, call: Callable[[], Result]) -> Result:
    """The result of `call`; `RefusedError` if it raises ValueError or TypeError as expected."""
    try:
        result = call()
    except (ValueError, TypeError) as error:
        if wrong is None:
            raise BrokenError(f"refuses good input with {type(error).__name__}", error) from error
        raise RefusedError from error
    except Exception as error:
        state = "good input" if wrong is None else wrong
        raise BrokenError(f"raises {type(error).__name__} for {state}", error) from error
    if wrong is not None:
        raise BrokenError(f"accepts {wrong}")
    return result


def given(case: Case, *, tempered: bool = True) -> dict[str, Any]:
    """The keyword arguments that most calls take."""
    options: dict[str, Any] = {}
    if case.lengths is not None:
        options["lengths"] = case.lengths
    if tempered and not (isinstance(case.temperature, float) and case.temperature == 1.0):
        options["temperature"] = case.temperature
    return options


def snippet(case: Case, call: str) -> str:
    """Python code that reproduces the call."""
    lines = ["import torch", "import sparsewood as sp", "from math import inf, nan", ""]
    lines.append(f"structure = {case.family.source}")
    lines.append(f"scores = {_source(case.scores)}  # strides {case.scores.stride()}")
    lines += [f"{name} = {_source(value)}" for name, value in given(case).items()]
    names = ", ".join(f"{name}={name}" for name in given(case))
    lines.append(f"# {call}(scores, structure, ..., {names})")
    return "\n".join(lines)


def _source(value: Any) -> str:
    if not isinstance(value, Tensor):
        return repr(value)
    values = value.detach()
    listed = (values.double() if values.is_floating_point() else values).tolist()
    shape = f".reshape({tuple(values.shape)})" if values.numel() == 0 else ""
    return f"torch.tensor({listed}, dtype={value.dtype}){shape}"


def number(tensor: Tensor) -> Any:
    """A detached tensor as a float64 NumPy array."""
    values = tensor.detach()
    return (values.double() if values.is_floating_point() else values).numpy()


def backward(case: Case, outputs: list[Tensor], vectors: list[Tensor]) -> Any:
    """(B, P): the gradient of <outputs, vectors>."""
    (gradient,) = attempt(None, lambda: torch.autograd.grad(outputs, case.scores, vectors))
    return number(gradient.flatten(1))


def seeded(case: Case) -> torch.Generator:
    return torch.Generator().manual_seed(int(case.rng.integers(2**31)))
