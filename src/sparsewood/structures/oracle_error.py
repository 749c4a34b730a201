"""Errors in a user's structure, with the index of the instance."""

from typing import Self

from torch import Tensor

from sparsewood._internal.batch import name_instance


class OracleError(RuntimeError):
    """A method of a `Custom` structure raised an exception or returned an invalid answer.

    `__cause__` is the exception that the method raised, if any.

    Args:
        problem: what went wrong.
        index: which `unit` of the batch failed. None: not a single one.
        unit: what `index` counts, "instance" or "structure".
    """

    def __init__(self, problem: str, index: int | None = None, unit: str = "instance") -> None:
        message = problem
        if index is not None:
            name = name_instance(index) if unit == "instance" else f"{unit} {index}"
            message = f"{name}: {problem}"
        super().__init__(message)
        self.problem, self.index, self.unit = problem, index, unit

    def renumbered(self, instances: Tensor) -> Self:
        """The same error for the batch from which `instances` (N,) were taken."""
        index = None if self.index is None else int(instances[self.index])
        return type(self)(self.problem, index)


class OracleValueError(OracleError, ValueError):
    """An `OracleError` whose cause is a ValueError."""
