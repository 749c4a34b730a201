"""The trees of one sentence as the graph of a forest: each distinct subtree once.

Roots are on top, one per tree; a node is in the column of its word, at the height of its subtree.
Nodes shared by several trees are shaded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from sparsewood._internal.numbers import counted
from sparsewood.draw._columns import centers_of
from sparsewood.draw._markup import text_width
from sparsewood.draw._shapes import MARGIN, SMALL, Box, Line, Panel, Text
from sparsewood.draw._sheet import Picture

if TYPE_CHECKING:
    from torch import Tensor

    from sparsewood.forest import Forest

_TALL, _LEAST, _GAP = 20.0, 22.0, 6.0  # height and minimum width of a node, gap between nodes
_STEP = 46.0  # distance between levels


@dataclass(frozen=True)
class Node:
    """A subtree.

    Attributes:
        word: the word at its top, counted from 0; None for a root.
        level: its height.
        uses: number of trees that contain it.
        children: indices of its children.
    """

    word: int | None
    level: int
    uses: int
    children: tuple[int, ...]


@dataclass(frozen=True)
class SharedGraph(Picture):
    """The nodes of one sentence, children before parents."""

    kind: ClassVar[str] = "Shared graph of trees"

    words: tuple[str, ...]
    nodes: tuple[Node, ...]

    def parts(self) -> list[str]:
        roots = sum(node.word is None for node in self.nodes)
        shared = sum(node.uses > 1 for node in self.nodes)
        nodes = counted(len(self.nodes), "node")
        return [counted(roots, "tree"), nodes, f"{shared} in several trees"]

    def text(self) -> list[str]:
        return [", ".join(self.parts())]

    def panel(self) -> Panel:
        names = self._names()
        wide = [max(_LEAST, text_width(name, SMALL) + 10) for name in names]
        places, width = self._places(wide)
        top = max(node.level for node in self.nodes)
        middles = [
            (x, MARGIN + _TALL / 2 + _STEP * (top - node.level))
            for x, node in zip(places, self.nodes, strict=True)
        ]
        shapes: list[Text | Line | Box] = []
        for (x, y), node in zip(middles, self.nodes, strict=True):
            for child in node.children:
                below = middles[child]
                ends = ((x, y + _TALL / 2), (below[0], below[1] - _TALL / 2))
                shapes.append(Line(ends, "faint", arrow=True))
        for (x, y), node, name, size in zip(middles, self.nodes, names, wide, strict=True):
            corner = (x - size / 2, y - _TALL / 2)
            shapes.append(Box(*corner, size, _TALL, shaded=node.uses > 1))
            shapes.append(Text(x, y + 0.36 * SMALL, name, SMALL))
        return Panel(shapes, width, 2 * MARGIN + _TALL + _STEP * top)

    def _names(self) -> list[str]:
        tree = 0
        names = []
        for node in self.nodes:
            tree += node.word is None
            names.append(f"tree {tree}" if node.word is None else self.words[node.word])
        return names

    def _places(self, wide: Sequence[float]) -> tuple[list[float], float]:
        """The x of each node, and the total width; nodes of one word and level are adjacent."""
        rows: dict[tuple[int | None, int], list[int]] = {}
        for i, node in enumerate(self.nodes):
            rows.setdefault((node.word, node.level), []).append(i)
        breadths = {key: _breadth([wide[i] for i in row]) for key, row in rows.items()}
        room = [_LEAST] * len(self.words)
        for (word, _), breadth in breadths.items():
            if word is not None:
                room[word] = max(room[word], breadth)
        centers, width = centers_of(room)
        whole = max(width, 2 * MARGIN + max(b for (word, _), b in breadths.items() if word is None))
        x = [0.0] * len(self.nodes)
        for (word, level), row in rows.items():
            middle = whole / 2 if word is None else centers[word] + (whole - width) / 2
            left = middle - breadths[word, level] / 2
            for i in row:
                x[i] = left + wide[i] / 2
                left += wide[i] + _GAP
        return x, whole


def _breadth(sizes: Sequence[float]) -> float:
    return sum(sizes) + _GAP * (len(sizes) - 1)


def uses_of(forest: Forest) -> Tensor:
    """(N,) int64: how many trees contain each node; the sum is `num_tree_nodes`."""
    uses = torch.zeros(forest.num_nodes, dtype=torch.int64, device=forest.row.device)
    uses.index_add_(0, forest.roots, torch.ones_like(forest.roots))
    for level in reversed(forest.levels):
        edges = slice(level.first_edge, level.last_edge)
        uses.index_add_(0, forest.children[edges], uses[forest.parents[edges]])
    return uses


def sentences_of(forest: Forest) -> Tensor:
    """(T,) int64: the sentence of each tree, found from any of its words."""
    first = forest.children[forest.child_offsets[forest.roots]]
    return forest.word[first] // forest.shape[1]


def shared_graph(forest: Forest, roots: Sequence[int]) -> SharedGraph:
    """The picture of some trees of one sentence, given their root nodes; words are numbers."""
    below: dict[int, tuple[int, ...]] = {}
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if node not in below:
            begin, end = forest.child_offsets[node : node + 2].tolist()
            below[node] = tuple(forest.children[begin:end].tolist())
            waiting += below[node]
    nodes = sorted(below)  # level by level
    words = dict(zip(nodes, forest.word[nodes].tolist(), strict=True))
    uses = dict.fromkeys(nodes, 0) | dict.fromkeys(roots, 1)
    for node in reversed(nodes):
        for child in below[node]:
            uses[child] += uses[node]
    levels = {node: bisect_right(forest.level_offsets[1:], node) for node in nodes}
    top = 1 + max(levels[node] for node in nodes if words[node] >= 0)
    n, place = forest.shape[1], {node: i for i, node in enumerate(nodes)}
    drawn = tuple(
        Node(
            None if words[node] < 0 else words[node] % n,
            min(levels[node], top),  # other sentences may have higher trees
            uses[node],
            tuple(place[child] for child in below[node]),
        )
        for node in nodes
    )
    length = 1 + max(node.word for node in drawn if node.word is not None)
    return SharedGraph(tuple(map(str, range(1, length + 1))), drawn)
