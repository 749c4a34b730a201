"""Batch dimensions: any number at the public interface, one internally."""

import re
from dataclasses import dataclass
from math import prod

from torch import Size, Tensor

from sparsewood._internal.numbers import check_dense

_INSTANCE = re.compile(r"\binstance (\d+)")
_ENTRY = re.compile(r"\b(scores|gold|given|lengths|temperature)\[(\d+)(?:, )?([\d, ]*)\]")
_SHAPE = re.compile(r"\b(shape|scores|expected|got|or) \((\d+)((?:, \d+)*),?\)")


@dataclass(frozen=True)
class Batch:
    """The batch shape of a call: `flatten` the inputs, `restore` the results.

    Internally, tables and error messages have one batch dimension, (B, ...). As a context manager,
    it converts error messages to the caller's batch shape: for a batch (2, 3), `instance 5` becomes
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

    def __enter__(self) -> "Batch":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if len(self.shape) == 1 or error is None:
            return
        if len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (self._as_given(error.args[0]),)

    def _as_given(self, message: str) -> str:
        """Convert the instances and shapes in `message` from the flat batch to the batch shape."""
        message = _INSTANCE.sub(lambda m: f"instance {self._index(int(m[1]))}", message)
        message = _ENTRY.sub(lambda m: m[1] + self._entry(int(m[2]), m[3]), message)
        return _SHAPE.sub(self._unflattened, message).replace("(B, ", "(*batch, ")

    def _index(self, instance: int) -> tuple[int, ...]:
        index = []
        for size in reversed(self.shape):
            instance, i = divmod(instance, size)
            index.append(i)
        return tuple(reversed(index))

    def _entry(self, instance: int, part: str) -> str:
        index = ", ".join([*map(str, self._index(instance)), *([part] if part else [])])
        return f"[{index}]" if index else ""

    def _unflattened(self, found: re.Match[str]) -> str:
        """Convert a shape in a message, if it begins with the flat batch dimension."""
        if int(found[2]) != prod(self.shape):
            return found[0]
        rest = (int(size) for size in found[3].split(", ")[1:])
        return f"{found[1]} {(*self.shape, *rest)}"
