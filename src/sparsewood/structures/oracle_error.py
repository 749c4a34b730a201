"""An error inside the code of a user's structure, with the instance it happened on."""

from typing import Self

from torch import Tensor


class OracleError(RuntimeError):
    """A method of a `Custom` structure failed, or its answer makes no sense.

    `__cause__` is the exception that the method raised, if it did.

    Args:
        problem: what went wrong.
        index: which one of the batch, counted in `unit`; None: all together, or none alone.
        unit: what is counted, "instance" or "structure".
    """

    def __init__(self, problem: str, index: int | None = None, unit: str = "instance") -> None:
        super().__init__(problem if index is None else f"{unit} {index}: {problem}")
        self.problem, self.index, self.unit = problem, index, unit

    def renumbered(self, instances: Tensor) -> Self:
        """The same error for a batch of which only `instances` (N,) were looked at."""
        index = None if self.index is None else int(instances[self.index])
        return type(self)(self.problem, index)


class OracleValueError(OracleError, ValueError):
    """An `OracleError` whose cause is a ValueError."""
