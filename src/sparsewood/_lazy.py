"""An attribute that is computed when first asked for."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

import torch

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801, used as a decorator
    """`functools.cached_property` without its lock, which a compiled graph cannot hold.

    While a graph is traced nothing is kept.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> "lazy[T]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> "lazy[T] | T":
        if instance is None:
            return self
        value = self.compute(instance)
        if not torch.compiler.is_compiling():
            instance.__dict__[self.name] = value
        return value
