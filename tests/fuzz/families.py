"""The families that are fuzzed, each in several small sizes with all its structures."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import sparsewood as sp
from tests.fuzz.members import Members

Size = tuple[int, ...]  # what `enumerate` is given


@dataclass(frozen=True)
class Family:
    """A structure, and what the fuzzer has to know of it.

    Attributes:
        name: what failures are grouped by.
        structure: the family.
        sizes: those that are drawn.
        shape: the shape of the scores of an instance of a size.
        fill: what a structure holds in the padding.
        lengths: how many leading numbers of a size are its entry of `lengths`; 0: it has none.
        summed: whether `marginals` is defined.
        make: the source of the structure, for reproducers.
    """

    name: str
    structure: sp.Structure
    sizes: tuple[Size, ...]
    shape: Callable[..., tuple[int, ...]]
    fill: Any = -1
    lengths: int = 1
    summed: bool = True
    make: str = ""

    def fits(self, inner: Size, outer: Size) -> bool:
        """Whether an instance of size `inner` can stand in the corner of one of size `outer`."""
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
        return _members(self.name, inner, outer)


class Seats(sp.Custom, arrays="numpy"):
    """Two seats side by side, by the three methods that a family needs and no more."""

    def best(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        left = (scores[:-1] + scores[1:]).argmax()
        return np.isin(np.arange(len(scores)), [left, left + 1])

    def parts(self, structure: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return structure

    def check(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 1 or shape[0] < 2:
            raise ValueError(f"expected scores of two seats or more, got {shape}")


class SeatsFamily(Family):
    def everything(self, size: Size) -> NDArray[np.int64]:
        (n,) = size
        return np.eye(n, dtype=np.int64)[:-1] + np.eye(n, k=1, dtype=np.int64)[:-1]


def _arcs(n: int, *labels: int) -> tuple[int, ...]:
    return n, n + 1, *labels


def _spans(n: int, *labels: int) -> tuple[int, ...]:
    return n, n, *labels


def _items(n: int) -> tuple[int, ...]:
    return (n,)


def _chain(steps: int, states: int) -> tuple[int, ...]:
    return steps, states, 1 + states


def _segments(longest: int) -> Callable[..., tuple[int, ...]]:
    return lambda positions, labels: (positions, labels, longest + labels)


def _pairs(n: int, m: int) -> tuple[int, ...]:
    return n, m


def _families() -> list[Family]:
    words = ((1,), (2,), (3,), (4,))
    labelled = ((1, 1), (1, 3), (2, 2), (3, 1), (3, 2))
    chains = ((1, 1), (1, 3), (2, 1), (2, 3), (3, 2), (3, 3), (4, 2))
    pairs = ((1, 1), (1, 3), (2, 2), (3, 1), (2, 3), (3, 2), (3, 3))
    items = ((1,), (2,), (3,), (4,), (6,))
    found = [
        Family(f"trees{'-projective' * p}{'-single' * s}", sp.DependencyTrees(p, s), words, _arcs)
        for p in (False, True)
        for s in (False, True)
    ]
    found += [
        Family(f"trees-children-{m}{'-single' * s}", sp.DependencyTrees(True, s, m), words, _arcs)
        for m, s in ((1, False), (2, False), (1, True))
    ]
    found += [
        Family(
            f"labelled{'-projective' * p}{'-single' * s}",
            sp.LabelledDependencyTrees(p, s),
            labelled,
            _arcs,
        )
        for p in (False, True)
        for s in (False, True)
    ]
    found += [
        Family(f"branching-{kind}", sp.BranchingTrees(kind), words, _arcs)
        for kind in ("flat", "left_to_right", "right_to_left")
    ]
    found += [
        Family("binary", sp.BinaryTrees(), ((1,), (2,), (3,), (4,), (5,)), _spans, 0),
        Family("binary-labelled", sp.BinaryTrees(True), ((1, 2), (2, 2), (3, 1), (3, 2)), _spans),
        Family("chain", sp.LinearChain(), chains, _chain),
        Family("chain-both", sp.LinearChain("both"), chains, _chain),
        Family("segments", sp.SemiMarkov(2), chains, _segments(2), (0, -1)),
        Family("segments-both", sp.SemiMarkov(3, "both"), chains, _segments(3), (0, -1)),
        Family("simplex", sp.Simplex(), items, _items, None),
        Family("subset", sp.Subset(2), items[1:], _items, 0),
        Family("subset-one", sp.Subset(1), items, _items, 0),
        Family("subset-at-most", sp.Subset(at_most=2), items, _items, 0),
        Family("hypercube", sp.Hypercube(), items, _items, 0),
        Family("matching", sp.Matching(), pairs, _pairs, lengths=2, summed=False),
        Family("matching-partial", sp.Matching(True), pairs, _pairs, lengths=2, summed=False),
        Family("alignment", sp.Alignment(), pairs, _pairs, 0, lengths=2),
        Family("alignment-gaps", sp.Alignment(True), pairs, _pairs, 0, lengths=2),
    ]
    logic = [
        ("xor", sp.Xor(), ((1,), (3,))),
        ("xor-negated", sp.Xor((0, 2)), ((3,), (4,))),
        ("at-most-one", sp.AtMostOne(), ((1,), (4,))),
        ("or", sp.Or((1,)), ((2,), (4,))),
        ("budget", sp.Budget(2), ((1,), (4,))),
        ("implies", sp.Implies(), ((2,),)),
        ("pairwise", sp.Pairwise(), ((3,),)),
    ]
    found += [
        Family(name, factor, sizes, _items, lengths=0, summed=False)
        for name, factor, sizes in logic
    ]
    make = "__import__('tests.fuzz.families', fromlist=['Seats']).Seats()"
    found.append(
        SeatsFamily(
            "custom", Seats(), ((2,), (3,), (5,)), _items, lengths=0, summed=False, make=make
        )
    )
    return found


FAMILIES: dict[str, Family] = {family.name: family for family in _families()}


@cache
def _members(name: str, inner: Size, outer: Size) -> Members:
    family = FAMILIES[name]
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
