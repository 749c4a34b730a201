"""Scales of charts, and round numbers for axes."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """The linear map from (low, high) to (start, end)."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True)
class LogScale(Scale):
    """The same on a logarithmic axis, for positive numbers."""

    def __call__(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def span(values: Iterable[float], *, zero: bool = False) -> tuple[float, float]:
    """The range of the finite values with a small margin; from zero on request."""
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    air = 0.04 * (high - low) or abs(high) * 0.05 or 1.0
    return (0.0 if zero and low >= 0 else low - air), high + air


def ticks(low: float, high: float, count: int = 6) -> list[float]:
    """Evenly spaced round numbers between `low` and `high`, about `count` at most."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, 20, ... from `low` to `high`."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [m * 10.0**power for power in powers for m in (1, 2, 5)]
    return [mark for mark in marks if low <= mark <= high]


def whole_ticks(low: int, high: int, count: int = 7) -> list[int]:
    """At most `count` whole numbers from low to high, evenly spaced."""
    step = next(
        m * 10**p for p in range(12) for m in (1, 2, 5) if (high - low) // (m * 10**p) + 1 <= count
    )
    first = low if step == 1 else -(-low // step) * step
    return list(range(first, high + 1, step))


def spread_out(places: list[float], room: float, low: float, high: float) -> list[float]:
    """Move labels apart so that neighbours are `room` apart, within low and high if they fit.

    Args:
        places: the preferred position of each label, in any order.
        room: the height of a label.
        low, high: the limits of positions.
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    edge = low
    for i in order:
        moved[i] = max(places[i], edge)
        edge = moved[i] + room
    edge = high
    for i in reversed(order):
        moved[i] = min(moved[i], edge)
        edge = moved[i] - room
    return moved


def short(value: float) -> str:
    """A number as the text of an axis."""
    if value == 0:
        return "0"
    if abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
