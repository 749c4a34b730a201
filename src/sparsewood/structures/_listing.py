"""Helpers of `enumerate`: all sequences, and a limit on how many structures are listed."""

from collections.abc import Iterable

import torch
from torch import Tensor

_MOST = 20_000


def check_count(count: int, what: str, where: str) -> None:
    """Raise ValueError if an instance has more structures than `enumerate` lists."""
    if count > _MOST:
        raise ValueError(f"enumerate: expected at most {_MOST} {what}, there are {count} {where}")


def sequences(values: Iterable[int], n: int) -> Tensor:
    """Every sequence of `n` of the values, (values ** n, n) int64 in lexicographic order."""
    return torch.cartesian_prod(*[torch.tensor(list(values))] * n).reshape(-1, n)
