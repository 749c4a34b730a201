"""Binary trees: the sentence, with its spans above it as a tree of constituents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sparsewood.draw._characters import Canvas, cell_len, in_columns
from sparsewood.draw._columns import centers_of
from sparsewood.draw._markup import text_width
from sparsewood.draw._names import Names, named, size_of
from sparsewood.draw._shapes import BELOW, MARGIN, SIZE, SMALL, Box, Line, Panel, Text
from sparsewood.draw._sheet import Picture

if TYPE_CHECKING:
    from sparsewood.posterior import Posterior

Span = tuple[int, int]  # first and last word, both included, counted from 0

_GAP = 2  # columns between two words
_STEP, _LEAST = 16.0, 4.0  # preferred and minimum distance between levels
_HIGH = 160.0  # maximum height, above which the distance shrinks
_LABEL = 17.0  # height of the label on a line


@dataclass(frozen=True)
class Node:
    """A span of the tree.

    Attributes:
        span: the words of the node.
        label: empty if the tree has no labels.
        left, right: indices of its children; -1 over a single word.
        height: 0 over a single word.
    """

    span: Span
    label: str
    left: int = -1
    right: int = -1
    height: int = 0


@dataclass(frozen=True)
class Brackets(Picture):
    """One binary tree.

    Attributes:
        words: the words of the sentence.
        spans: the label of each span of the tree, empty without labels.
        labelled: whether the spans have labels.
    """

    kind: ClassVar[str] = "Binary tree"

    words: tuple[str, ...]
    spans: dict[Span, str]
    labelled: bool = False

    @cached_property
    def nodes(self) -> list[Node]:
        """Children before parents, the whole sentence last."""
        nodes: list[Node] = []
        starting: dict[int, int] = {}  # the longest node so far that starts at each word
        ending: dict[int, int] = {}
        for span in sorted(self.spans, key=lambda span: (span[1] - span[0], span)):
            first, last = span
            node = Node(span, self.spans[span])
            if first < last:
                left, right = starting[first], ending[last]
                height = 1 + max(nodes[left].height, nodes[right].height)
                node = Node(span, self.spans[span], left, right, height)
            starting[first] = ending[last] = len(nodes)
            nodes.append(node)
        return nodes

    def parts(self) -> list[str]:
        """The tree in brackets."""
        names: list[str] = []
        for node in self.nodes:
            inside = self.words[node.span[0]]
            if node.height:
                inside = f"{names[node.left]} {names[node.right]}"
            bare = not node.label and not node.height
            names.append(inside if bare else f"({node.label}{' ' * bool(node.label)}{inside})")
        return names[-1:]

    def text(self) -> list[str]:
        words = [in_columns(word) for word in self.words]
        names = [in_columns(node.label) for node in self.nodes]
        leaves: list[float] = []
        edge = 0
        for word, name in zip(words, names, strict=False):  # the first nodes are single words
            cell = max(1, cell_len(word), cell_len(name))
            leaves.append(edge + (cell - 1) // 2)
            edge += cell + _GAP
        columns = [int(x) for x in self._places(leaves, [cell_len(name) + 3 for name in names])]
        top = self.nodes[-1].height
        canvas = Canvas(top + 2)  # the words, then one row per height
        for node, column, name in zip(self.nodes, columns, names, strict=True):
            if node.height:
                left, right = columns[node.left], columns[node.right]
                canvas.put(node.height + 1, left, f"╭{'─' * (right - left - 1)}╮")
                for child in (node.left, node.right):
                    for row in range(self.nodes[child].height + 1, node.height):
                        canvas.put(row + 1, columns[child], "│")
            else:
                canvas.put(0, column, words[node.span[0]], centered=True)
            bare = "" if not node.height else "─" if node.height == top else "┴"
            canvas.put(node.height + 1, column, name or bare, centered=True)
        rows = canvas.rows()
        return [*reversed(rows[1 if self.labelled else 2 :]), rows[0]]

    def panel(self) -> Panel:
        names = [text_width(node.label, SMALL) for node in self.nodes]
        words = [text_width(word, SIZE) for word in self.words]
        leaves, _ = centers_of([max(pair) for pair in zip(words, names, strict=False)])
        places = self._places(leaves, [name + 14 for name in names])
        levels = self.nodes[-1].height
        label = _LABEL if self.labelled else 0.0  # a label is on the line of its node
        step = max(_LEAST, min(_STEP, _HIGH / max(1, levels))) + label
        ground = MARGIN + label + step * levels
        feet = [ground - step * node.height for node in self.nodes]
        shapes: list[Text | Line | Box] = []
        for i, (x, y, node) in enumerate(zip(places, feet, self.nodes, strict=True)):
            if node.height:
                a, b = places[node.left], places[node.right]
                low, lower = feet[node.left] - label, feet[node.right] - label
                shapes.append(Line(((a, low), (a, y), (b, y), (b, lower)), title=self._title(i)))
            else:
                shapes.append(Text(x, ground + SIZE + 1, self.words[node.span[0]]))
            if node.label:
                shapes.append(Text(x, y - 4, node.label, SMALL))
        width = places[len(self.words) - 1] + max(words[-1], names[len(words) - 1]) / 2 + MARGIN
        return Panel(shapes, width, ground + BELOW)

    def _title(self, node: int) -> str:
        (first, last), label = self.nodes[node].span, self.nodes[node].label
        return f"{label} {' '.join(self.words[first : last + 1])}".strip()

    def _places(self, leaves: list[float], rooms: list[float]) -> list[float]:
        """The middle of each node, with at least `rooms[i]` between the children of node i.

        Nodes right of a split move right to make room, which brings no other nodes closer.
        """
        leaves = list(leaves)
        for i, node in enumerate(self.nodes):
            if not node.height:
                continue
            middles = self._middles(leaves)
            missing = rooms[i] - (middles[node.right] - middles[node.left])
            if missing > 0:
                for word in range(self.nodes[node.right].span[0], len(leaves)):
                    leaves[word] += missing
        return self._middles(leaves)

    def _middles(self, leaves: list[float]) -> list[float]:
        """Centre each node between its children, in integer columns if the words are."""
        middles: list[float] = []
        for node in self.nodes:
            if not node.height:
                middles.append(leaves[node.span[0]])
            elif isinstance(leaves[0], int):
                middles.append((middles[node.left] + middles[node.right]) // 2)
            else:
                middles.append((middles[node.left] + middles[node.right]) / 2)
        return middles


def binary_trees(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over `BinaryTrees`."""
    (n,) = size_of(post)
    words = named(names.words, n, "words")
    labelled = len(post.shape) == 3
    if names.labels is not None and not labelled:
        raise ValueError(f"show: labels: expected None, as {post.structure} has no labels")
    labels = named(names.labels, post.shape[-1], "labels") if labelled else ()
    pictures: list[Picture] = []
    for table in post.structures:
        spans = (table >= 0 if labelled else table == 1).nonzero().tolist()
        names_of = {(i, j): labels[int(table[i, j])] if labelled else "" for i, j in spans}
        pictures.append(Brackets(words, names_of, labelled))
    return pictures
