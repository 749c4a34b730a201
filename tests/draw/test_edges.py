"""The drawing is read back: the edges in it are the edges of the tree."""

from math import hypot

import sparsewood as sp
from sparsewood.draw._shapes import Box, Line
from sparsewood.draw.edges import Edges

NAMES = ("a", "b", "c", "d", "e")


def edges_of(parents: list[int]) -> set[tuple[int, int]]:
    """Pairs of vertices, the earlier first."""
    return {(min(pair), max(pair)) for pair in enumerate(parents, start=1)}


def read_text(lines: list[str]) -> set[tuple[int, int]]:
    path: list[int] = []
    found = set()
    for line in lines:
        depth, vertex = (len(line) - 1) // 3, NAMES.index(line[-1])
        assert depth == 0 or line[-4] in "├└"
        path[depth:] = [vertex]
        if depth:
            found.add((min(path[depth - 1 :]), max(path[depth - 1 :])))
    return found


def test_every_tree_can_be_read_back() -> None:
    for tree in sp.SpanningTrees().enumerate(5).tolist():
        picture = Edges(NAMES, tuple(tree))
        assert read_text(picture.text()) == edges_of(tree)
        shapes = picture.panel().shapes
        boxes = [shape for shape in shapes if isinstance(shape, Box)]
        middles = [(box.x + box.width / 2, box.y + box.height / 2) for box in boxes]
        lines = [shape.points for shape in shapes if isinstance(shape, Line)]
        ends = [
            {i for i, (x, y) in enumerate(middles) for a, b in line if hypot(a - x, b - y) < 5}
            for line in lines
        ]
        assert {(min(pair), max(pair)) for pair in ends} == edges_of(tree)


def test_parts_name_the_earlier_vertex_first() -> None:
    picture = Edges(("Rome", "Pisa", "Bari"), (2, 0))
    assert picture.parts() == ["Pisa – Bari", "Rome – Bari"]
    assert picture.text() == ["Rome", "└─ Bari", "   └─ Pisa"]
    assert (
        picture.description(0.5) == "Spanning tree with probability 50.0%: Pisa – Bari, Rome – Bari"
    )
