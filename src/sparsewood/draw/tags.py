"""Taggings of linear chains: the sentence, with the tag of each word above it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from sparsewood.draw._characters import cell_len, in_columns, marks, row_of
from sparsewood.draw._columns import centers_of
from sparsewood.draw._markup import text_width
from sparsewood.draw._names import Names, given_rows, labels_of, named, size_of
from sparsewood.draw._shapes import BELOW, MARGIN, SIZE, SMALL, Box, Line, Panel, Text
from sparsewood.draw._sheet import Picture

if TYPE_CHECKING:
    from sparsewood.posterior import Posterior

_GAP = 2  # columns between two words
_HEIGHT = 20.0  # height of the box around a tag
_PADDING = 6.0
_FOOT = 7.0  # from the box to the words


@dataclass(frozen=True)
class Tags(Picture):
    """One tagging.

    Attributes:
        words: the words of the sentence.
        tags: the tag of each word.
        given: tags to compare with, or None.
    """

    kind: ClassVar[str] = "Tagging"

    words: tuple[str, ...]
    tags: tuple[str, ...]
    given: tuple[str, ...] | None = None

    @cached_property
    def agrees(self) -> list[bool | None] | None:
        """Whether each word has the given tag; None if no tags are given."""
        if self.given is None:
            return None
        return [tag == wanted for tag, wanted in zip(self.tags, self.given, strict=True)]

    def parts(self) -> list[str]:
        return [f"{word} {tag}" for word, tag in zip(self.words, self.tags, strict=True)]

    def text(self) -> list[str]:
        rows = [[in_columns(name) for name in row] for row in (self.tags, self.words)]
        if self.agrees is not None:
            rows.append(marks(self.agrees))
        cells = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
        return [row_of(row, cells, _GAP) for row in rows]

    def panel(self) -> Panel:
        boxes = [text_width(tag, SMALL) + 2 * _PADDING for tag in self.tags]
        words = [text_width(word, SIZE) for word in self.words]
        centers, width = centers_of([max(pair) for pair in zip(boxes, words, strict=True)])
        middle, ground = MARGIN + _HEIGHT / 2, MARGIN + _HEIGHT + _FOOT
        shapes: list[Text | Line | Box] = []
        for i, (x, box) in enumerate(zip(centers, boxes, strict=True)):
            kind = self._kind(i)
            shapes.append(Box(x - box / 2, MARGIN, box, _HEIGHT, kind))
            shapes.append(Text(x, middle + 0.36 * SMALL, self.tags[i], SMALL, kind))
            shapes.append(Text(x, ground + SIZE + 1, self.words[i]))
            if i > 0:  # the chain
                ends = (centers[i - 1] + boxes[i - 1] / 2, middle), (x - box / 2, middle)
                shapes.append(Line(ends, "faint"))
        return Panel(shapes, width, ground + BELOW)


def taggings(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over `LinearChain`."""
    (n,) = size_of(post)
    words = named(names.words, n, "words")
    labels = named(names.labels, post.shape[1], "labels")
    given = given_rows(post, names.given, n)
    wanted = None if given is None else labels_of(given, labels, "show: given")
    return [
        Tags(words, labels_of(states[:n], labels, f"tagging {t}"), wanted)
        for t, states in enumerate(post.structures)
    ]
