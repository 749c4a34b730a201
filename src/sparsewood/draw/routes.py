"""Paths: the vertices of a path in a graph, and the cells of a path through a grid.

In text:

    0 → 2 → 3

    ■ · ·
    ■ · ·
    · ■ ■
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

from sparsewood.draw._markup import text_width
from sparsewood.draw._names import Names, parts_of, size_of
from sparsewood.draw._shapes import MARGIN, SIZE, Box, Line, Panel, Text
from sparsewood.draw._sheet import Picture
from sparsewood.structures.paths import Paths

if TYPE_CHECKING:
    from sparsewood.posterior import Posterior

_COLUMNS = 78  # of a line of text
_WIDTH = 640.0  # of a row of vertices
_HEIGHT, _PADDING, _GAP = 25.0, 8.0, 18.0
_CELL, _MOST = 16.0, 400.0  # width of a cell, and of a grid


@dataclass(frozen=True)
class Route(Picture):
    """One path in a graph.

    Attributes:
        vertices: the vertices it visits, in order.
    """

    kind: ClassVar[str] = "Path"

    vertices: tuple[int, ...]

    def parts(self) -> list[str]:
        return [f"{a} → {b}" for a, b in zip(self.vertices, self.vertices[1:], strict=False)]

    def text(self) -> list[str]:
        return wrap(" → ".join(map(str, self.vertices)), _COLUMNS)

    def panel(self) -> Panel:
        shapes: list[Text | Line | Box] = []
        x = y = MARGIN
        right = MARGIN
        for k, vertex in enumerate(self.vertices):
            name = str(vertex)
            size = text_width(name, SIZE) + 2 * _PADDING
            if x > MARGIN and x + size > _WIDTH:
                x, y = MARGIN, y + _HEIGHT + _GAP
            elif k:
                middle = y + _HEIGHT / 2
                shapes.append(
                    Line(((x - _GAP, middle), (x, middle)), arrow=True, title=self.parts()[k - 1])
                )
            shapes.append(Box(x, y, size, _HEIGHT))
            shapes.append(Text(x + size / 2, y + _HEIGHT / 2 + 0.36 * SIZE, name))
            right, x = max(right, x + size), x + size + _GAP
        return Panel(shapes, right + MARGIN, y + _HEIGHT + MARGIN)


@dataclass(frozen=True)
class GridRoute(Picture):
    """One path through a grid.

    Attributes:
        rows: how many there are.
        columns: how many there are.
        cells: (row, column) of the cells it visits, counted from 0, in increasing order.
    """

    kind: ClassVar[str] = "Path through the cells"

    rows: int
    columns: int
    cells: tuple[tuple[int, int], ...]

    def parts(self) -> list[str]:
        return [f"({i}, {j})" for i, j in self.cells]

    def text(self) -> list[str]:
        visited = set(self.cells)
        return [
            " ".join("■" if (i, j) in visited else "·" for j in range(self.columns))
            for i in range(self.rows)
        ]

    def panel(self) -> Panel:
        side = min(_CELL, _MOST / max(self.rows, self.columns))
        visited = set(self.cells)
        shapes: list[Text | Line | Box] = [
            Box(
                MARGIN + j * side,
                MARGIN + i * side,
                side,
                side,
                "plain" if (i, j) in visited else "faint",
                shaded=(i, j) in visited,
            )
            for i in range(self.rows)
            for j in range(self.columns)
        ]
        return Panel(shapes, self.columns * side + 2 * MARGIN, self.rows * side + 2 * MARGIN)


def routes(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over `Paths`."""
    assert isinstance(post.structure, Paths)
    found = post.structure.vertices(post.structures).tolist()
    return [Route(tuple(vertex for vertex in path if vertex >= 0)) for path in found]


def grid_routes(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over `GridPaths`."""
    rows, columns = size_of(post)
    return [GridRoute(rows, columns, tuple((i, j) for i, j in cells)) for cells in parts_of(post)]
