"""Checks of numbers that a caller gives: counts and positive reals."""

import math
from numbers import Real
from typing import Any


def check_whole(name: str, value: Any, least: int = 1) -> None:
    """ValueError unless `value` is a whole number of at least `least`; `name` says what it is."""
    if not hasattr(value, "__index__"):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def check_real(name: str, value: Any, *, positive: bool = False) -> None:
    """ValueError unless `value` is finite and at least 0, or more than 0."""
    good = isinstance(value, Real) and 0 <= float(value) < math.inf
    if not good or (positive and value == 0):
        rule = "positive" if positive else "at least 0"
        raise ValueError(f"{name} must be {rule} and finite, got {value!r}")
