"""Segmentations: the sequence, with a labelled brace over each segment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from sparsewood.draw._characters import cell_len, centered, in_columns, row_of
from sparsewood.draw._columns import centers_of
from sparsewood.draw._markup import text_width
from sparsewood.draw._names import Names, named, size_of
from sparsewood.draw._shapes import BELOW, MARGIN, SIZE, SMALL, Box, Line, Panel, Text
from sparsewood.draw._sheet import Picture

if TYPE_CHECKING:
    from sparsewood.posterior import Posterior

_GAP = 2  # columns between two words
_FEET = 8.0  # height of a brace
_APART = 22.0  # between the words of two segments


class Segment(NamedTuple):
    """Words `first` to `last`, both included, counted from 0."""

    first: int
    last: int
    label: str


@dataclass(frozen=True)
class Segments(Picture):
    """One segmentation.

    Attributes:
        words: the words of the sequence.
        segments: the segments from left to right, covering all words.
    """

    kind: ClassVar[str] = "Segmentation"

    words: tuple[str, ...]
    segments: tuple[Segment, ...]

    def parts(self) -> list[str]:
        return [f"[{' '.join(self.words[s.first : s.last + 1])}] {s.label}" for s in self.segments]

    def text(self) -> list[str]:
        words = [in_columns(word) for word in self.words]
        cells = [cell_len(word) for word in words]
        braces = []
        for first, last, label in self.segments:
            name = in_columns(label)
            width = sum(cells[first : last + 1]) + _GAP * (last - first)
            cells[last] += max(0, cell_len(name) + 2 - width)
            width = max(width, cell_len(name) + 2)
            spaced = f" {name} " if cell_len(name) + 4 <= width else name
            braces.append(f"╭{centered(spaced, width - 2, '─')}╮")
        return [(" " * _GAP).join(braces), row_of(words, cells, _GAP)]

    def panel(self) -> Panel:
        sizes = [text_width(word, SIZE) for word in self.words]
        widths = []  # of each segment: its words or its label
        for first, last, label in self.segments:
            inner, width = centers_of(sizes[first : last + 1])
            name = text_width(label, SMALL) + 4
            widths.append((inner, width - 2 * MARGIN, max(width - 2 * MARGIN, name)))
        middles, total = centers_of([width for *_, width in widths], gap=_APART)
        ground = MARGIN + SMALL + 4 + _FEET
        shapes: list[Text | Line | Box] = []
        for segment, middle, (inner, own, width) in zip(
            self.segments, middles, widths, strict=True
        ):
            left, right, top = middle - width / 2, middle + width / 2, ground - _FEET
            corners = ((left, ground), (left, top), (right, top), (right, ground))
            shapes.append(Line(corners, title=segment.label))
            shapes.append(Text(middle, top - 4, segment.label, SMALL))
            for x, word in zip(inner, self.words[segment.first : segment.last + 1], strict=True):
                shapes.append(Text(middle - own / 2 - MARGIN + x, ground + SIZE + 1, word))
        return Panel(shapes, total, ground + BELOW)


def segmentations(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over `SemiMarkov`."""
    (n,) = size_of(post)
    words = named(names.words, n, "words")
    labels = named(names.labels, post.shape[1], "labels")
    return [
        Segments(
            words,
            tuple(
                Segment(t, t + length - 1, labels[label])
                for t, (length, label) in enumerate(rows)
                if length > 0
            ),
        )
        for rows in post.structures.tolist()
    ]
