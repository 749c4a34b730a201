"""Measurement and display of times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

import sparsewood as sp


@dataclass
class Timing:
    mean: float
    best: float


def seconds(call: Callable[[], object], repeats: int) -> Timing:
    """Wall time of `call` after one warm-up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return Timing(float(np.mean(times)), min(times))


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = sp.get_num_threads(), torch.get_num_threads()
    sp.set_num_threads(count)
    torch.set_num_threads(count)
    try:
        yield
    finally:
        sp.set_num_threads(before[0])
        torch.set_num_threads(before[1])


def target(value: float, goal: float | None, met: bool, unit: str = "x") -> str:
    """`value` and its goal, coloured by whether the goal is met."""
    if goal is None:
        return f"{value:.2f}{unit}"
    colour = "green" if met else "red"
    return f"[{colour}]{value:.2f}{unit}[/] ({goal:g}{unit})"
