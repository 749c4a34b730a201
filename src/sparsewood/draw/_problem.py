"""The data of a live figure: what a page needs to solve and draw one instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite, prod
from typing import Any

import torch
from torch import Tensor

from sparsewood.draw._names import Given, Names, given_event, labels_of, named
from sparsewood.draw._tables import TABLES
from sparsewood.draw.arcs import checked_heads
from sparsewood.draw.families import family_of
from sparsewood.inference._check import check_finite, check_input
from sparsewood.structures.base import NativeStructure, Structure
from sparsewood.structures.paths import Paths

WORDS_MAX: int = TABLES["wordsMax"]  # of an interactive figure; larger instances are drawn once
PARTS_MAX: int = TABLES["partsMax"]

Shape = tuple[int, ...]


@dataclass(frozen=True)
class _Kind:
    """How a native family is drawn on a page.

    Attributes:
        picture: the name of its web file.
        part: the name of one part.
        cut: maps the size of an instance and the batch's shape to the shape of its scores.
        labels: the dimension of the scores over labels, if any.
        first: the number of the first word, if words have no names.
    """

    picture: str
    part: str
    cut: Callable[[Shape, Shape], Shape]
    labels: int | None = None
    first: int = 0


def _arcs(size: Shape, shape: Shape) -> Shape:
    return (size[0], size[0] + 1, *shape[2:])


def _square(size: Shape, shape: Shape) -> Shape:
    return (size[0], size[0], *shape[2:])


def _first(size: Shape, shape: Shape) -> Shape:
    return (*size, *shape[len(size) :])


_KINDS = {
    "trees": _Kind("arcs", "arc", _arcs, first=1),
    "bounded_trees": _Kind("arcs", "arc", _arcs, first=1),
    "labelled_trees": _Kind("arcs", "arc", _arcs, labels=2, first=1),
    "spanning_trees": _Kind("edges", "edge", _square),
    "chain": _Kind("tags", "tag", _first, labels=1),
    "semi_markov": _Kind("segments", "segment", _first, labels=1),
    "binary_trees": _Kind("brackets", "span", _square, labels=2),
    "matching": _Kind("links", "link", _first),
    "transport": _Kind("links", "link", _first),
    "alignment": _Kind("links", "link", _first),
    "monotone": _Kind("links", "link", _first),
    "paths": _Kind("items", "edge", _first),
    "simplex": _Kind("items", "item", _first),
    "subset": _Kind("items", "item", _first),
}


@dataclass(frozen=True)
class FigureProblem:
    """One instance, cut to its own size.

    Attributes:
        structure: the family.
        scores: (*parts) float64 on the CPU, -inf at parts that are not read.
        size: size of the instance.
        names: the names of words, columns and labels, checked.
        noun: the name of one structure.
    """

    structure: NativeStructure
    scores: Tensor
    size: Shape
    names: Names
    noun: str

    @property
    def too_large(self) -> str:
        """Why the instance is too large to be interactive; empty if it is not."""
        words, parts = max(self.size), self.scores.numel()
        if words <= WORDS_MAX and parts <= PARTS_MAX:
            return ""
        return (
            f"{words:,} words and {parts:,} parts: an interactive figure has at most {WORDS_MAX} "
            f"words and {PARTS_MAX:,} parts"
        )

    def data(self) -> dict[str, Any]:
        """The problem as JSON data for the page; scores are None if it is too large."""
        family, options = self.structure.native
        shape = tuple(self.scores.shape)
        event = self.structure.event_shape(shape)
        scores = None
        if not self.too_large:
            found = self.scores.flatten().tolist()
            scores = [score if isfinite(score) else None for score in found]
        names = self.names
        given = None if names.given is None else torch.as_tensor(names.given)
        return {
            "family": family,
            "options": [int(option) for option in options],
            "shape": list(shape),
            "size": list(self.size),
            "event": list(event),
            "scores": scores,
            "picture": _KINDS[family].picture,
            "noun": self.noun,
            "part": _KINDS[family].part,
            "structure": str(self.structure),
            "words": list(names.words or ()),
            "other": None if names.other is None else list(names.other),
            "labels": None if names.labels is None else list(names.labels),
            "given": None if given is None else given.flatten().tolist(),
        }


def problem(
    scores: Tensor, structure: Structure, lengths: Tensor | None, instance: int, names: Names
) -> FigureProblem:
    """One instance of a batch with its names. Raises ValueError if they do not fit.

    Args:
        scores: (*parts), or (B, *parts).
        lengths: (B,) or (B, d), the size of each instance; for (*parts) a number or (d,).
        instance: index into the batch.
    """
    if not isinstance(structure, NativeStructure):
        raise ValueError(
            f"live: expected a family with a native oracle, got {structure}; "
            "draw its posterior with show(post)"
        )
    if structure.costs_only:
        raise ValueError(
            f"live: scores of {structure} are costs, which cannot be dragged above 0; "
            "draw its posterior with show(post)"
        )
    if not structure.has_native_solver:
        raise ValueError(
            f"live: expected a family whose parts are 0 or 1, got {structure}; "
            "draw its posterior with show(post)"
        )
    kind, family = _KINDS[structure.native.name], family_of(structure, names, "live")
    table, size = _one(scores, structure, lengths, instance)
    shape = kind.cut(size, tuple(table.shape))
    table = table[tuple(slice(n) for n in shape)]
    checked = _names(structure, kind, shape, size, names)
    return FigureProblem(structure, table.contiguous(), size, checked, family.noun)


def _one(
    scores: Tensor, structure: NativeStructure, lengths: Tensor | None, instance: int
) -> tuple[Tensor, Shape]:
    """The scores of one instance, -inf at parts that are not read, and its size."""
    batch, table, sizes = check_input(scores, structure, lengths)
    table = table.detach()
    if not -len(table) <= instance < len(table):
        raise ValueError(f"live: instance {instance} exceeds the batch shape {tuple(batch.shape)}")
    with batch:
        read = structure.reads(table, sizes)
        check_finite(table, read)
    size = tuple(structure.size_of(table, sizes)[instance].tolist())
    alone = torch.where(read, structure.restrict(table), -torch.inf)[instance]
    return alone.to("cpu", torch.float64), size


def _names(
    structure: NativeStructure, kind: _Kind, shape: Shape, size: Shape, names: Names
) -> Names:
    """The names of words, columns and labels, by default numbers, and the given structure."""
    given_words = names.words
    if isinstance(structure, Paths):  # the items are edges
        given_words = [f"{tail} → {head}" for tail, head in structure.edges.tolist()]
    words = named(given_words, size[0], "words", kind.first, "live")
    other = named(names.other, size[1], "other", call="live") if len(size) > 1 else None
    labels = None
    if kind.labels is not None and len(shape) > kind.labels:
        labels = named(names.labels, shape[kind.labels], "labels", call="live")
    elif names.labels is not None:
        raise ValueError(f"live: labels: expected None, as {structure} has no labels")
    given = None if names.given is None else _given(structure, shape, names.given, labels)
    return Names(words, other, labels, given)


def _given(
    structure: NativeStructure, shape: Shape, given: Given, labels: Sequence[str] | None
) -> Tensor:
    """The given structure in its encoding, or ValueError."""
    event = structure.event_shape(shape)
    table, n = given_event(given, event, "live"), event[0]
    rows = table.reshape(n, prod(event[1:]))
    if structure.native.name == "chain":
        labels_of(rows[:, 0], labels or (), "live: given")
    else:
        checked_heads(rows[:, 0], n, "live: given heads", unknown=True)
        if labels is not None:
            labels_of(rows[:, 1], labels, "live: given")
    return table.to(torch.int64)
