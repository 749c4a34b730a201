"""Dependency trees: the sentence, with an arc from each head to its dependent above it.

The arrow from a dot at the top comes from the root. Labels are on their arcs; in text, where the
arcs of a head share a line, they are below the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from torch import Tensor

from sparsewood.draw._arcs import Arc, place_legs, stacked_arcs
from sparsewood.draw._arcs_text import arcs_text
from sparsewood.draw._characters import in_columns, marks
from sparsewood.draw._columns import centers_of
from sparsewood.draw._markup import text_width
from sparsewood.draw._names import Names, given_rows, labels_of, named, size_of
from sparsewood.draw._shapes import BELOW, MARGIN, SIZE, SMALL, Box, Line, Panel, Text
from sparsewood.draw._sheet import Picture
from sparsewood.draw.tikz import latex

if TYPE_CHECKING:
    from sparsewood.posterior import Posterior

Heads = Tensor | Sequence[int]

UNKNOWN = -1  # the given head of a word that is not compared
_CELL = 18.0  # minimum width of a word
_FIRST, _STEP, _LEAST = 21.0, 14.0, 3.5  # height of the lowest arc; preferred, minimum distance
_HIGH = 130.0  # maximum height, above which the distance shrinks
_LABELLED = 17.0  # distance of arcs with labels between them
_ROOT = 15.0  # from the highest arc to the dot of the root

_EDGES = {
    "plain": "",
    "agree": ", edge style={draw=sparsewoodagree}",
    "differ": ", edge style={draw=sparsewooddiffer, dashed}",
}


@dataclass(frozen=True)
class Arcs(Picture):
    """One dependency tree.

    Attributes:
        words: the words of the sentence.
        heads: the head of each word, 0 for the root, j for word j (counted from 1).
        labels: the label of the arc to each word, or None.
        given: heads to compare with, or None; -1 for a word that is not compared.
        given_labels: labels to compare with, or None.
    """

    kind: ClassVar[str] = "Dependency tree"

    words: tuple[str, ...]
    heads: tuple[int, ...]
    labels: tuple[str, ...] | None = None
    given: tuple[int, ...] | None = None
    given_labels: tuple[str, ...] | None = None

    @cached_property
    def agrees(self) -> list[bool | None] | None:
        """Whether each word has the given head (and label); None if there is none."""
        if self.given is None:
            return None
        pairs = zip(self.heads, self.given, strict=True)
        same = [None if wanted == UNKNOWN else head == wanted for head, wanted in pairs]
        if self.labels is None or self.given_labels is None:
            return same
        labels = zip(same, self.labels, self.given_labels, strict=True)
        return [head and label == wanted for head, label, wanted in labels]

    def parts(self) -> list[str]:
        names = ["root", *self.words]
        labels = [f" ({label})" for label in self.labels] if self.labels else [""] * len(self.words)
        return [
            f"{names[head]} → {word}{label}"
            for word, head, label in zip(self.words, self.heads, labels, strict=True)
        ]

    def text(self) -> list[str]:
        below = [] if self.labels is None else [[in_columns(label) for label in self.labels]]
        if self.agrees is not None:
            below.append(marks(self.agrees))
        return arcs_text(self.heads, [in_columns(word) for word in self.words], below)

    def panel(self) -> Panel:
        arcs = stacked_arcs(self.heads)
        roots, centers, width = self._place(arcs)
        levels = max((arc.level for arc in arcs), default=0)
        step = max(_LEAST, min(_STEP, _HIGH / max(1, levels)))
        if self.labels is not None:
            step = _LABELLED
        highest = _FIRST + step * (levels - 1) if levels else _FIRST - _ROOT
        top = MARGIN + 3 + (0 if self.labels is None else SMALL)
        ground = top + _ROOT + highest  # the tips of arrowheads
        titles = self.parts()
        shapes: list[Text | Line | Box] = []
        for word, x in roots.items():
            points = ((x, top), (x, ground))
            shapes.append(Line(points, self._kind(word), True, True, titles[word]))
            shapes += self._label(word, self._above(word, x, centers[word]), top - 5)
        for arc in sorted(arcs, key=lambda arc: -arc.level):
            y = ground - _FIRST - step * (arc.level - 1)
            points = ((arc.start, ground), (arc.start, y), (arc.end, y), (arc.end, ground))
            word = arc.dependent
            shapes.append(Line(points, self._kind(word), True, title=titles[word]))
            shapes += self._label(word, self._free(arc, arcs, roots), y - 3)
        baseline = ground + SIZE + 1
        shapes += [Text(x, baseline, word) for x, word in zip(centers, self.words, strict=True)]
        return Panel(shapes, width, ground + BELOW)

    def _above(self, word: int, x: float, center: float) -> float:
        """The x of the label of a root: over its arrow, within the room of its word."""
        spare = (self._size(word) - self._label_width(word)) / 2
        return min(max(x, center - spare), center + spare)

    def _free(self, arc: Arc, arcs: list[Arc], roots: Mapping[int, float]) -> float:
        """The x of the label of an arc: in the middle, or beside the legs that cross there."""
        left, right = sorted((arc.start, arc.end))
        half = self._label_width(arc.dependent) / 2 + 2
        legs = [x for other in arcs if other.level > arc.level for x in (other.start, other.end)]
        crossing = sorted(x for x in (*legs, *roots.values()) if left < x < right)
        spots = [(a + b) / 2 for a, b in pairwise([left, *crossing, right]) if b - a >= 2 * half]
        middle = (left + right) / 2
        if all(abs(x - middle) > half for x in crossing) or not spots:
            return middle
        return min(spots, key=lambda x: abs(x - middle))

    def _place(self, arcs: list[Arc]) -> tuple[dict[int, float], list[float], float]:
        """Place the legs of the arcs.

        Returns:
            the x of the arrow from the root for each word that has one, the middle of each word,
            and the width of the picture.
        """
        roots = [word for word, head in enumerate(self.heads) if head == 0]
        sizes = [self._size(word) for word in range(len(self.words))]
        rooms = [max(_CELL, text_width(word, SIZE)) - 2 for word in self.words]
        centers, width = centers_of(sizes)
        places = place_legs(arcs, roots, centers, rooms)
        if self.labels is not None:
            centers, width = centers_of(sizes, [self._room(arc, centers) for arc in arcs])
            places = place_legs(arcs, roots, centers, rooms)
        return dict(zip(roots, places, strict=True)), centers, width

    def _room(self, arc: Arc, centers: list[float]) -> tuple[int, int, float]:
        """The distance of the two words at which the label fits between the legs."""
        missing = self._label_width(arc.dependent) + 10 - abs(arc.end - arc.start)
        return arc.left, arc.right, centers[arc.right] - centers[arc.left] + missing

    def _size(self, word: int) -> float:
        """The width reserved for a word, including the label of its root arrow."""
        label = 0.0 if self.heads[word] else self._label_width(word)
        return max(_CELL, text_width(self.words[word], SIZE), label)

    def _label_width(self, word: int) -> float:
        return text_width(self.labels[word], SMALL) if self.labels else 0.0

    def _label(self, word: int, x: float, y: float) -> list[Text]:
        if self.labels is None:
            return []
        return [Text(x, y, self.labels[word], SMALL, self._kind(word))]

    def tikz(self) -> str:
        """One `dependency` environment of the package tikz-dependency."""
        # Braces keep a word that begins with [ from being read as options.
        row = r" \& ".join(f"{{{latex(word)}}}" for word in self.words)
        lines = [
            rf"\begin{{dependency}}{'[hide label]' if self.labels is None else ''}",
            r"  \begin{deptext}[column sep=.6em]",
            rf"    {row} \\",
            r"  \end{deptext}",
        ]
        levels = {arc.dependent: arc.level for arc in stacked_arcs(self.heads)}
        top = 1 + max(levels.values(), default=0)
        names = ["" if head else "root" for head in self.heads]
        if self.labels is not None:
            names = [latex(label) for label in self.labels]
        step = 1.6 if self.labels is None else 2.6
        for i, (head, name) in enumerate(zip(self.heads, names, strict=True)):
            options = f"edge height={2 + step * levels.get(i, top):.1f}ex{_EDGES[self._kind(i)]}"
            command = rf"\depedge[{options}]{{{head}}}" if head else rf"\deproot[{options}]"
            lines.append(rf"  {command}{{{i + 1}}}{{{name}}}")
        return "\n".join([*lines, r"\end{dependency}"])


def checked_heads(heads: Heads, n: int, what: str, *, unknown: bool = False) -> tuple[int, ...]:
    """The heads of the n words, without padding (-1) beyond them, or ValueError.

    With `unknown`, heads may be -1.
    """
    arcs = tuple(int(head) for head in (heads.tolist() if isinstance(heads, Tensor) else heads))
    if len(arcs) < n or any(head != -1 for head in arcs[n:]):
        raise ValueError(f"{what}: expected {n} heads, one per word, got {len(arcs)}")
    for word, head in enumerate(arcs[:n], start=1):
        if not (0 <= head <= n or (unknown and head == UNKNOWN)) or head == word:
            raise ValueError(
                f"{what}: word {word} of {n} has head {head}, expected 0 or another word"
            )
    return arcs[:n]


def trees(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over `DependencyTrees`."""
    n = size_of(post)[0]
    words = named(names.words, n, "words", first=1)
    given = given_rows(post, names.given, n)
    wanted = None if given is None else checked_heads(given, n, "given heads", unknown=True)
    return [
        Arcs(words, checked_heads(heads, n, f"tree {t}"), given=wanted)
        for t, heads in enumerate(post.structures)
    ]


def labelled_trees(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over `LabelledDependencyTrees`."""
    (n,) = size_of(post)
    words = named(names.words, n, "words", first=1)
    labels = named(names.labels, post.shape[-1], "labels")
    given = given_rows(post, names.given, n)
    wanted = wanted_labels = None
    if given is not None:
        wanted = checked_heads(given[:, 0], n, "given heads", unknown=True)
        wanted_labels = labels_of(given[:, 1], labels, "show: given")
    return [
        Arcs(
            words,
            checked_heads(tree[:, 0], n, f"tree {t}"),
            labels_of(tree[:n, 1], labels, f"tree {t}"),
            wanted,
            wanted_labels,
        )
        for t, tree in enumerate(post.structures)
    ]
