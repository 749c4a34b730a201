"""Batch dimensions: any number at the public interface, one internally."""

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from math import prod

import torch
from torch import Size, Tensor

from sparsewood._internal.numbers import check_dense

# The batch shapes of the calls in progress, outermost first.
_given: ContextVar[tuple[Size, ...]] = ContextVar("given", default=())


@dataclass(frozen=True)
class BatchShape:
    """The batch shape of a call: `flatten` the inputs, `restore` the results.

    Internally, tables have one batch dimension, (B, ...). As a context manager, it tells the
    functions below the caller's batch shape: for a batch (2, 3), they write instance 5 as
    `instance (1, 2)`, and shapes that begin with B = 6 begin with 2, 3.
    """

    shape: Size

    def flatten(self, what: str, table: Tensor) -> Tensor:
        """(*batch, ...) -> (B, ...), a view if possible.

        With one batch dimension, `table` is returned unchecked; otherwise ValueError unless its
        shape begins with the batch shape. `what` names the table in messages.
        """
        count = len(self.shape)
        if count == 1:
            return table
        check_dense(what, table)
        if table.shape[:count] != self.shape:
            raise ValueError(
                f"{what}: expected one entry per instance of a batch of shape "
                f"{tuple(self.shape)}, got shape {tuple(table.shape)}"
            )
        return table.flatten(0, count - 1) if count else table.unsqueeze(0)

    def restore(self, table: Tensor, dim: int = 0) -> Tensor:
        """(..., B, ...) with the instances along `dim` -> (..., *batch, ...), a view."""
        if len(self.shape) == 1:
            return table
        return table.unflatten(dim, self.shape) if self.shape else table.squeeze(dim)

    def __enter__(self) -> "BatchShape":
        if not torch.compiler.is_compiling():  # a graph's operators enter it when they run
            _given.set((*_given.get(), self.shape))
        return self

    def __exit__(self, *_: object) -> None:
        if not torch.compiler.is_compiling():
            _given.set(_given.get()[:-1])


def given_batch(count: int) -> tuple[int, ...]:
    """The caller's shape of a flat batch of `count` instances; (count,) if unknown."""
    shapes = () if torch.compiler.is_compiling() else _given.get()
    return next((tuple(shape) for shape in shapes if prod(shape) == count), (count,))


def given_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """The caller's shape of a table of shape (B, ...), for error messages."""
    return (*given_batch(shape[0]), *shape[1:]) if len(shape) else ()


def name_instance(b: int, count: int | None = None) -> str:
    """Instance `b` of a flat batch of `count`, for error messages.

    None: of the batch of the outermost call.
    """
    if count is None:
        count = prod(next(iter(_given.get()), (0,)))
    index = _index(b, given_batch(count))
    return f"instance {index[0] if len(index) == 1 else index}"


def name_entry(what: str, index: Sequence[int], count: int) -> str:
    """The entry `what[index]` of a table of a flat batch of `count`, for error messages."""
    found = (*_index(index[0], given_batch(count)), *index[1:])
    return f"{what}[{', '.join(map(str, found))}]" if found else what


def _index(b: int, shape: Sequence[int]) -> tuple[int, ...]:
    index = []
    for size in reversed(shape[1:]):
        b, i = divmod(b, size)
        index.append(i)
    return (*((b,) if len(shape) else ()), *reversed(index))
