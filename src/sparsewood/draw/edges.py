"""Spanning trees of undirected graphs: the vertices on a circle, the edges between them.

In text the tree is rooted at its first vertex:

    Rome
    ├─ Pisa
    │  └─ Turin
    └─ Bari
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, hypot, pi, sin
from typing import TYPE_CHECKING, ClassVar

from sparsewood.draw._characters import in_columns
from sparsewood.draw._columns import centers_of
from sparsewood.draw._markup import text_width
from sparsewood.draw._names import Names, named, size_of
from sparsewood.draw._shapes import MARGIN, SIZE, Box, Line, Panel, Point, Text
from sparsewood.draw._sheet import Picture

if TYPE_CHECKING:
    from sparsewood.posterior import Posterior

_DOT = 8.0  # width of a vertex
_OUT = 9.0  # distance from a vertex to its name
_APART = 14.0  # distance between two names
_LEAST = 46.0  # minimum radius of the circle


@dataclass(frozen=True)
class Edges(Picture):
    """One spanning tree.

    Attributes:
        words: the names of the vertices.
        parents: parents of the vertices 1 to n - 1, with the tree rooted at vertex 0.
    """

    kind: ClassVar[str] = "Spanning tree"

    words: tuple[str, ...]
    parents: tuple[int, ...]

    def parts(self) -> list[str]:
        pairs = (sorted((child, parent)) for child, parent in enumerate(self.parents, start=1))
        return [f"{self.words[i]} – {self.words[j]}" for i, j in pairs]

    def text(self) -> list[str]:
        children: list[list[int]] = [[] for _ in self.words]
        for child, parent in enumerate(self.parents, start=1):
            children[parent].append(child)
        lines = []
        waiting = [(0, "", "")]  # a vertex, its prefix, and the prefix of its children
        while waiting:
            vertex, before, below = waiting.pop()
            lines.append(before + in_columns(self.words[vertex]))
            for k, child in enumerate(reversed(children[vertex])):
                last = k == 0
                branch, going_on = ("└─ ", "   ") if last else ("├─ ", "│  ")
                waiting.append((child, below + branch, below + going_on))
        return lines

    def panel(self) -> Panel:
        widths = [text_width(word, SIZE) for word in self.words]
        # Each vertex gets a share of the circle proportional to the width of its name.
        centers, width = centers_of(widths, gap=_APART)
        around = width - 2 * MARGIN + _APART
        turns = [2 * pi * (x - centers[0]) / around - pi / 2 for x in centers]
        radius = max(_LEAST, around / (2 * pi))
        names = [  # the middle of each name, relative to the circle
            cos(turn) * (radius + _OUT + width / 2)
            for turn, width in zip(turns, widths, strict=True)
        ]
        sides = [(x - w / 2, x + w / 2) for x, w in zip(names, widths, strict=True)]
        left = MARGIN - min(-radius - _DOT, *(side[0] for side in sides))
        right = max(radius + _DOT, *(side[1] for side in sides))
        middle = MARGIN + SIZE + _OUT + radius
        at = [(left + radius * cos(turn), middle + radius * sin(turn)) for turn in turns]
        edges = zip(enumerate(self.parents, start=1), self.parts(), strict=True)
        shapes: list[Text | Line | Box] = [
            Line(_between(at[child], at[parent]), title=title) for (child, parent), title in edges
        ]
        for (x, y), name, turn, word in zip(at, names, turns, self.words, strict=True):
            shapes.append(Box(x - _DOT / 2, y - _DOT / 2, _DOT, _DOT, shaded=True))
            baseline = middle + sin(turn) * (radius + _OUT + SIZE / 2) + 0.36 * SIZE
            shapes.append(Text(left + name, baseline, word))
        return Panel(shapes, left + right + MARGIN, 2 * middle)


def _between(start: Point, end: Point) -> tuple[Point, Point]:
    """The line from the rim of one vertex to the rim of another."""
    x, y = end[0] - start[0], end[1] - start[1]
    share = _DOT / 2 / hypot(x, y)
    return (start[0] + share * x, start[1] + share * y), (end[0] - share * x, end[1] - share * y)


def spanning_trees(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over `SpanningTrees`."""
    (n,) = size_of(post)
    words = named(names.words, n, "words")
    return [Edges(words, tuple(parents[: n - 1])) for parents in post.structures.tolist()]
