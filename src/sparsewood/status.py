"""Status codes of solves."""

from enum import IntEnum

import torch
from torch import Tensor


class Status(IntEnum):
    """The codes of `SparsePosterior.status`. `Status("capped")` and `str` use lower-case names.

    Attributes:
        SOLVED: the duality gap is within the tolerance.
        CAPPED: stopped by a cap, `max_active` or `max_iter`.
        STALLED: stopped because rounding prevents further progress.
        LIMITED: stopped by a limit of the solver: too many structures or rounds, or too little
            memory. A lower temperature or `max_support` reduces the number of structures.
    """

    SOLVED = 0
    CAPPED = 1
    STALLED = 2
    LIMITED = 3

    def __str__(self) -> str:
        return self.name.lower()

    @classmethod
    def _missing_(cls, value: object) -> "Status | None":
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


class UnconvergedError(RuntimeError):
    """Raised with `on_unconverged="raise"` if a solve has no certificate."""


def tally(status: Tensor) -> str:
    """The number of instances per status, as text: "62 solved, 2 capped"."""
    counts = torch.bincount(status.flatten(), minlength=len(Status)).tolist()
    named = zip(counts, Status, strict=True)
    return ", ".join(f"{count} {code}" for count, code in named if count)
