"""A family that is fuzzed, in several small sizes with all its structures."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import sparsewood as sp
from tests.fuzz.members import Members

Size = tuple[int, ...]  # arguments of `enumerate`


@dataclass(frozen=True)
class Family:
    """A family, and what the fuzzer needs to know about it.

    Attributes:
        name: the name by which failures are grouped.
        structure: the family.
        sizes: the sizes to draw.
        shape: maps a size to the shape of the scores.
        fill: the value of a structure in the padding.
        lengths: how many leading numbers of a size form its entry of `lengths`; 0: none.
        summed: whether `marginals` is defined.
        make: the source of the structure, for reproducers.
        fit: maps drawn scores to those that the family takes.
    """

    name: str
    structure: sp.Structure
    sizes: tuple[Size, ...]
    shape: Callable[..., tuple[int, ...]]
    fill: Any = -1
    lengths: int = 1
    summed: bool = True
    make: str = ""
    fit: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda scores: scores

    def fits(self, inner: Size, outer: Size) -> bool:
        """Whether an instance of size `inner` fits in the corner of one of size `outer`."""
        k = self.lengths
        return all(a <= b for a, b in zip(inner[:k], outer[:k], strict=True)) and (
            inner[k:] == outer[k:]
        )

    @property
    def source(self) -> str:
        return self.make or f"sp.{self.structure!r}"

    def everything(self, size: Size) -> NDArray[np.int64]:
        """(count, *event)"""
        return self.structure.enumerate(*size).numpy()

    def members(self, inner: Size, outer: Size) -> Members:
        """All structures of an instance of size `inner` in scores of the shape of `outer`."""
        return _members(self, inner, outer)


@cache
def _members(family: Family, inner: Size, outer: Size) -> Members:
    events = family.everything(inner)
    shape, full = family.shape(*inner), family.shape(*outer)
    structure = family.structure
    parts = structure.indicator(torch.from_numpy(events), shape).numpy()
    columns = np.zeros((len(events), *full))
    columns[:, *(slice(0, k) for k in shape)] = parts
    larger = structure.event_shape(full)
    if larger is not None and events.shape[1:] != larger:
        padded = np.empty((len(events), *larger), dtype=np.int64)
        padded[...] = family.fill
        padded[:, *(slice(0, k) for k in events.shape[1:])] = events
        events = padded
    mask = structure.penalised(torch.zeros(1, *full))
    counted = np.ones(full, dtype=bool) if mask is None else mask.numpy()
    return Members(events, columns.reshape(len(events), -1), counted.reshape(-1))
