"""Random tokens of list operations."""

from random import Random

from sparsewood.lab.data.listops import DIGITS
from sparsewood.lab.data.listops_parameters import ListOpsParameters


def operator(parameters: ListOpsParameters, random: Random) -> str:
    return f"[{parameters.operators[below(len(parameters.operators), random)]}"


def digit(random: Random) -> str:
    return DIGITS[below(10, random)]


def below(n: int, random: Random) -> int:
    """An integer from 0 to n - 1. Only `Random.random` draws the same on every Python."""
    return int(random.random() * n)
