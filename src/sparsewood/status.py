"""How a solve ended, instance by instance."""

from enum import IntEnum

import torch
from torch import Tensor


class Status(IntEnum):
    """The codes of `SparsePosterior.status`; `Status("capped")` and `str` go by their names.

    Attributes:
        SOLVED: the duality gap is within the promise.
        CAPPED: a cap, `max_active` or `max_iter`, kept it away.
        STALLED: the solver came to where rounding lets it gain nothing more.
        LIMITED: a limit of the solver itself kept it away: too many structures or rounds, or too
            little memory. A lower temperature or `max_support` keeps fewer structures.
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
    """What `on_unconverged="raise"` raises for a solve that has no certificate."""


def tally(status: Tensor) -> str:
    """How many instances ended in which way, in words: "62 solved, 2 capped"."""
    counts = torch.bincount(status.flatten(), minlength=len(Status)).tolist()
    named = zip(counts, Status, strict=True)
    return ", ".join(f"{count} {code}" for count, code in named if count)
