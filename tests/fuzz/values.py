"""Extreme values: scores, dtypes, memory layouts, temperatures."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Rng = np.random.Generator
Floats = NDArray[np.float64]

LARGEST = 1e200  # scores / temperature beyond this are refused


def pick(rng: Rng, weights: Mapping[str, float]) -> str:
    """One of the names, by weight."""
    point = rng.random() * sum(weights.values())
    for name, weight in weights.items():
        point -= weight
        if point < 0:
            return name
    return next(iter(weights))  # rounding


def _scaled(low: float, high: float) -> Callable[[Rng, tuple[int, ...]], Floats]:
    """Normal values times a power of ten between these."""
    return lambda rng, shape: rng.standard_normal(shape) * 10.0 ** rng.uniform(low, high)


def _offset(rng: Rng, shape: tuple[int, ...]) -> Floats:
    size = 10.0 ** rng.choice([3, 8, 10, 13, 17, 60]) * rng.choice([-1, 1])
    return size + rng.standard_normal(shape) * rng.choice([0, 1, 100])


def _mixed(rng: Rng, shape: tuple[int, ...]) -> Floats:
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-320, 150, shape)


def _one_hole(value: float) -> Callable[[Rng, tuple[int, ...]], Floats]:
    """Normal values but one."""

    def draw(rng: Rng, shape: tuple[int, ...]) -> Floats:
        scores = rng.standard_normal(shape)
        scores.flat[rng.integers(scores.size)] = value
        return scores

    return draw


# name: (weight, draw)
_SCORES: dict[str, tuple[float, Callable[[Rng, tuple[int, ...]], Floats]]] = {
    "normal": (30, lambda rng, shape: rng.standard_normal(shape)),
    "sharp": (8, lambda rng, shape: 10 * rng.standard_normal(shape)),
    "small": (8, _scaled(-12, -3)),
    "subnormal": (3, _scaled(-323, -290)),
    "large": (6, _scaled(2, 9)),
    "huge": (3, _scaled(20, 190)),
    "mixed": (3, _mixed),
    "offset": (8, _offset),
    "integers": (10, lambda rng, shape: rng.integers(-2, 3, shape).astype(float)),
    "halves": (5, lambda rng, shape: rng.integers(-3, 4, shape) / 2),
    "equal": (5, lambda rng, shape: np.full(shape, rng.choice([0.0, 0.1, -7.0, -2000.0, 1e8]))),
    "beyond": (1.0, _one_hole(1e300)),
    "below": (1.0, _one_hole(-1e250)),
    "nan": (0.7, _one_hole(np.nan)),
    "inf": (0.7, _one_hole(np.inf)),
    "nothing": (0.7, lambda rng, shape: np.full(shape, -np.inf)),
}
_KINDS = {name: weight for name, (weight, _) in _SCORES.items()}
CONTINUOUS = ("normal", "sharp", "small")  # ties have probability 0


def draw_scores(rng: Rng, batch: int, shape: tuple[int, ...]) -> tuple[list[str], Floats]:
    """The kind of each instance, and the scores (B, *shape)."""
    kinds = [pick(rng, _KINDS)] * batch
    if rng.random() < 0.2:
        kinds = [pick(rng, _KINDS) for _ in kinds]
    scores = np.empty((batch, *shape))
    masked = rng.random() < 0.25
    for b, kind in enumerate(kinds):
        scores[b] = _SCORES[kind][1](rng, shape)
        if masked:
            scores[b][rng.random(shape) < rng.choice([0.1, 0.3, 0.6])] = -np.inf
    return kinds, scores


_DTYPES = {"float64": 60, "float32": 20, "float16": 10, "bfloat16": 10}
_LAYOUTS = {"plain": 60, "transposed": 10, "strided": 10, "expanded": 10, "shifted": 10}


def draw_dtype(rng: Rng) -> torch.dtype:
    return getattr(torch, pick(rng, _DTYPES))


def draw_layout(rng: Rng) -> str:
    return pick(rng, _LAYOUTS)


def lay_out(values: Tensor, layout: str) -> tuple[Tensor, Tensor]:
    """(scores, their memory): `values` with other strides."""
    if layout == "transposed":
        base = values.transpose(0, -1).contiguous()
        return base.transpose(0, -1), base
    if layout == "strided":
        base = torch.full((*values.shape, 2), torch.nan, dtype=values.dtype)
        base[..., 0] = values
        return base[..., 0], base
    if layout == "expanded" and len(values):  # all instances are the first
        base = values[:1].clone()
        return base.expand(values.shape), base
    if layout == "shifted":
        base = torch.cat([values.new_full((1,), torch.nan), values.flatten()])
        return base[1:].view(values.shape), base
    return values, values


_TEMPERATURE = {
    "one": 45,
    "mild": 20,
    "tiny": 6,
    "huge": 6,
    "overflow": 1.5,
    "each": 20,
    "wrong": 1.5,
}


def draw_temperature(rng: Rng, batch: int) -> tuple[float | Tensor, str | None]:
    """A temperature, and why it must be rejected, if it is invalid."""
    kind = pick(rng, _TEMPERATURE)
    if kind == "wrong":
        bad = [0.0, -1.0, np.nan, np.inf, 1j, torch.ones(batch + 2), torch.zeros(batch)]
        chosen = bad[rng.integers(len(bad))]
        if isinstance(chosen, Tensor) and batch == 0 and len(chosen) == 0:
            chosen = -1.0
        return chosen, "a temperature"
    if kind == "each":
        temperatures = torch.from_numpy(10.0 ** rng.uniform(-2, 2, batch))
        if rng.random() < 0.5:
            temperatures = temperatures.float()
        return temperatures.requires_grad_(bool(rng.random() < 0.3)), None
    value = {
        "one": 1.0,
        "mild": 10.0 ** rng.uniform(-1, 1),
        "tiny": 10.0 ** rng.uniform(-12, -2),
        "huge": 10.0 ** rng.uniform(2, 300),
        "overflow": 1e-310,
    }[kind]
    return (torch.tensor(value, dtype=torch.float64) if rng.random() < 0.1 else value), None
