"""Choices and sets of items: all items, with the chosen items marked. Rankings: in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sparsewood.draw._characters import cell_len, in_columns, padded
from sparsewood.draw._markup import text_width
from sparsewood.draw._names import Names, named, parts_of, size_of
from sparsewood.draw._shapes import MARGIN, SIZE, Box, Line, Panel, Text
from sparsewood.draw._sheet import Picture

if TYPE_CHECKING:
    from sparsewood.posterior import Posterior

_SHOWN = 40  # with more items, only the chosen ones are drawn
_COLUMNS = 78  # of a line of text
_WIDTH = 640.0  # of a row of boxes
_HEIGHT = 25.0
_PADDING, _GAP = 8.0, 8.0


@dataclass(frozen=True)
class Items(Picture):
    """One set of items.

    Attributes:
        names: the names of all items.
        chosen: the items in the set, counted from 0, in increasing order.
    """

    kind: ClassVar[str] = "Chosen"

    names: tuple[str, ...]
    chosen: tuple[int, ...]

    def parts(self) -> list[str]:
        return [self.names[i] for i in self.chosen]

    def text(self) -> list[str]:
        texts = [self._marker(on) + in_columns(name) for name, on in self._marked()]
        width = max(map(cell_len, texts), default=0)
        per_row = max(1, (_COLUMNS + 3) // (width + 3))
        rows = [texts[i : i + per_row] for i in range(0, len(texts), per_row)]
        if len(rows) > 1:  # below one another
            rows = [[padded(text, width) for text in row] for row in rows]
        return [*("   ".join(row).rstrip() for row in rows), *self._count()]

    def panel(self) -> Panel:
        shapes: list[Text | Line | Box] = []
        x = y = MARGIN
        right = MARGIN
        for name, on in self._marked():
            size = text_width(name, SIZE) + 2 * _PADDING
            if x > MARGIN and x + size > _WIDTH:
                x, y = MARGIN, y + _HEIGHT + _GAP
            shapes.append(Box(x, y, size, _HEIGHT, "plain" if on else "faint", shaded=on))
            middle = y + _HEIGHT / 2 + 0.36 * SIZE
            shapes.append(Text(x + size / 2, middle, name, kind="plain" if on else "faint"))
            right, x = max(right, x + size), x + size + _GAP
        for line in self._count():
            width = text_width(line, SIZE)
            if shapes:
                y += _HEIGHT + _GAP
            shapes.append(Text(MARGIN + width / 2, y + SIZE, line))
            right = max(right, MARGIN + width)
        return Panel(shapes, right + MARGIN, y + _HEIGHT + MARGIN)

    @staticmethod
    def _marker(on: bool) -> str:
        return "● " if on else "○ "

    def _marked(self) -> list[tuple[str, bool]]:
        """The items to draw, and whether each is chosen."""
        inside = set(self.chosen)
        drawn = range(len(self.names)) if len(self.names) <= _SHOWN else self.chosen
        return [(self.names[i], i in inside) for i in drawn]

    def _count(self) -> list[str]:
        """A line with the counts, if items are omitted."""
        if len(self.names) <= _SHOWN:
            return []
        return [f"{len(self.chosen):,} of {len(self.names):,} items"]


class Ranking(Items):
    """The items in the order of their ranks; of many, the first are drawn."""

    kind: ClassVar[str] = "Order"

    @staticmethod
    def _marker(on: bool) -> str:
        return ""


def rankings(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over `Rankings`: ranks with items, the lowest rank first."""
    (n,) = size_of(post)
    words = named(names.words, n, "words")
    chosen = tuple(range(min(n, _SHOWN)))
    pictures: list[Picture] = []
    for ranks in post.structures[:, :n]:
        order: list[int] = ranks.argsort().tolist()
        ranked = tuple(f"{rank}. {words[i]}" for rank, i in enumerate(order, 1))
        pictures.append(Ranking(ranked, chosen))
    return pictures


def item_sets(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over `Simplex`, `Subset` or `Hypercube`."""
    (n,) = size_of(post)
    words = named(names.words, n, "words")
    return [Items(words, tuple(i for (i,) in chosen)) for chosen in parts_of(post)]
