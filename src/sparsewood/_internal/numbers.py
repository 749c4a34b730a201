"""Checks of numbers, tensors and choices given by the caller, and their format in messages."""

import math
import operator
import reprlib
from numbers import Real
from typing import Any, get_args

import torch
from torch import Tensor

from sparsewood._internal.transforms import check_not_mapped

LARGEST = 1e200  # sums of such scores, also weighted, still fit in a double
_MOST = 2**31 - 1  # the extension counts in 32 bits


def check_whole(name: str, value: Any, least: int = 1, most: int = _MOST) -> int:
    """`value` as an int. Raises ValueError unless it is an integer from `least` to `most`.

    `name` names it in messages. A tensor or array of one integer is accepted, a bool is not.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, got {shown(value)}") from None
    if number < least:
        raise ValueError(f"{name} must be at least {least}, got {shown(number)}")
    if number > most:
        raise ValueError(f"{name} must be at most {most}, got {shown(number)}")
    return number


def check_real(name: str, value: Any, *, positive: bool = False) -> float:
    """`value` as a float. Raises ValueError unless it is finite and at least 0, or positive."""
    number = value if type(value) is float else math.nan  # isinstance with an ABC is slow
    if number is not value and isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # an int beyond the largest float
            number = math.inf
    if not 0 <= number < math.inf or (positive and number == 0):
        rule = "positive" if positive else "at least 0"
        raise ValueError(f"{name} must be {rule} and finite, got {shown(value)}")
    return number


def check_dense(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a dense tensor with accessible values.

    Under `torch.vmap` values are not accessible.
    """
    if not isinstance(value, Tensor):
        raise ValueError(f"{name}: expected a tensor, got {type(value).__name__}")
    if value.layout != torch.strided or value.is_nested:
        kind = "a nested one" if value.is_nested else f"layout {value.layout}"
        raise ValueError(f"{name}: expected a dense tensor, got {kind}")
    if value.is_meta:
        raise ValueError(f"{name}: expected a tensor with values, got one on the meta device")
    check_not_mapped(name, value)


def within_reach(scores: Tensor) -> Tensor:
    """(B, ...) in float64; instances with magnitudes above 1e200 are scaled by a power of two.

    So sums in a MAP oracle stay finite, without changing the best structure. Such large scores are
    valid, as the temperature may reduce them.
    """
    table = scores.detach().double()
    large = (table.abs() > LARGEST) & table.isfinite()
    if torch.compiler.is_compiling() or large.any():
        scale = table.new_ones(len(table)).masked_fill(large.flatten(1).any(-1), 2.0**-400)
        table = table * scale.view(-1, *[1] * (scores.ndim - 1))
    return table


def shown(value: Any) -> str:
    """`value` as part of a message, on one line."""
    short = reprlib.Repr()
    short.maxother = short.maxstring = short.maxlong = 60
    try:
        return " ".join(short.repr(value).split())
    except ValueError:  # Python does not format ints of more than 4,300 digits
        return "a number too long to show"


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Raise ValueError unless `value` is one of the words of a `Literal`."""
    words = get_args(choices)
    if value not in words:
        raise ValueError(f"{name}: expected one of {', '.join(words)}; got {value!r}")


def counted(number: int, noun: str) -> str:
    """A number with its noun, whose plural ends in s: "1 tree", "2 trees"."""
    return f"{number} {noun}{'s' * (number != 1)}"
