"""Helpers for result classes: lazy attributes, and deep copies that keep their graph."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Generic, TypeVar, overload

import torch
from torch import Tensor

Value = TypeVar("Value")
Result = TypeVar("Result")


class lazy(Generic[Value]):  # noqa: N801, a decorator as `functools.cached_property`
    """`functools.cached_property` without the lock that it has in Python 3.11.

    `torch.compile` cannot trace the lock. In a compiled graph nothing is cached.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "lazy[Value]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: Any, owner: type) -> "Value | lazy[Value]":
        if instance is None:
            return self
        value = self.compute(instance)
        if not torch.compiler.is_compiling():
            instance.__dict__[self.name] = value
        return value


class CopiedWithGraph:
    """A frozen dataclass whose deep copy shares the tensors that require a gradient.

    PyTorch cannot deep copy non-leaf tensors. Shared tensors lead to the same scores.
    """

    def __deepcopy__(self: Result, memo: dict[int, Any]) -> Result:
        copy = object.__new__(type(self))
        memo[id(self)] = copy
        for name, value in vars(self).items():
            copy.__dict__[name] = _copied(value, memo)
        return copy


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    """A deep copy that shares tensors that require a gradient, also those of a named tuple."""
    if isinstance(value, Tensor) and value.requires_grad:
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_copied(one, memo) for one in value))
    return deepcopy(value, memo)
