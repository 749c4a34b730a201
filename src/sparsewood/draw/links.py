"""Matchings, transport, alignments and attention: two rows of words, with lines between pairs.

Words without a partner are faint. In text, a matching is a list of pairs, transport a list of rows
with their partners, and an alignment has one column per step of the path, with a dash for a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sparsewood.draw._characters import cell_len, in_columns, padded, row_of
from sparsewood.draw._columns import centers_of
from sparsewood.draw._markup import text_width
from sparsewood.draw._names import Names, named, parts_of, size_of
from sparsewood.draw._shapes import MARGIN, SIZE, Box, Line, Panel, Text
from sparsewood.draw._sheet import Picture, percent

if TYPE_CHECKING:
    from sparsewood.posterior import Posterior

_APART = 58.0  # from one row to the other
_GAP = 2  # columns between two steps
_NONE = "–"


@dataclass(frozen=True)
class Links(Picture):
    """Pairs of a row and a column.

    Attributes:
        rows: their names.
        columns: their names.
        pairs: (row, column), counted from 0, in increasing order.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]

    def parts(self) -> list[str]:
        return [f"{self.rows[i]} – {self.columns[j]}" for i, j in self.pairs]

    def shares(self) -> list[float]:
        """The opacity of each line."""
        return [1.0] * len(self.pairs)

    def panel(self) -> Panel:
        sides = (self.rows, self.columns)
        sizes = [[max(8.0, text_width(name, SIZE)) for name in side] for side in sides]
        width = max(centers_of(side)[1] for side in sizes)
        above, below = (_justified(side, width) for side in sizes)
        top, bottom = MARGIN + SIZE, MARGIN + SIZE + _APART
        shapes: list[Text | Line | Box] = [
            Line(((above[i], top + 6), (below[j], bottom - SIZE)), title=title, share=share)
            for (i, j), title, share in zip(self.pairs, self.parts(), self.shares(), strict=True)
        ]
        for k, (side, places, y) in enumerate(
            ((self.rows, above, top), (self.columns, below, bottom))
        ):
            linked = {pair[k] for pair in self.pairs}
            for i, (x, name) in enumerate(zip(places, side, strict=True)):
                shapes.append(Text(x, y, name, kind="plain" if i in linked else "faint"))
        return Panel(shapes, width, bottom + MARGIN + 3)


def _justified(sizes: list[float], width: float) -> list[float]:
    """The middles of words spread over `width`; a single word is centred."""
    centers, own = centers_of(sizes)
    missing = width - own
    if len(centers) == 1:
        return [centers[0] + missing / 2]
    return [x + missing * i / (len(centers) - 1) for i, x in enumerate(centers)]


class Pairing(Links):
    """One matching."""

    kind: ClassVar[str] = "Matching"

    def text(self) -> list[str]:
        names = [in_columns(name) for name in self.rows]
        partner = dict(self.pairs)
        width = max(map(cell_len, names))
        lines = [
            f"{padded(name, width)} ── {in_columns(self.columns[partner[i]])}"
            if i in partner
            else name
            for i, name in enumerate(names)
        ]
        free = sorted(set(range(len(self.columns))) - set(partner.values()))
        lines += [f"{' ' * (width + 4)}{in_columns(self.columns[j])}" for j in free]
        return lines


@dataclass(frozen=True)
class Shipment(Links):
    """One transport: how often each pair is used.

    Attributes:
        times: how often, for each pair.
    """

    kind: ClassVar[str] = "Transport"

    times: tuple[int, ...]

    def shares(self) -> list[float]:
        most = max(self.times, default=1)
        return [count / most for count in self.times]

    def parts(self) -> list[str]:
        found = zip(super().parts(), self.times, strict=True)
        return [f"{pair}{_times(count)}" for pair, count in found]

    def text(self) -> list[str]:
        names = [in_columns(name) for name in self.rows]
        width = max(map(cell_len, names))
        lines = []
        for i, name in enumerate(names):
            found = zip(self.pairs, self.times, strict=True)
            partners = [
                f"{in_columns(self.columns[j])}{_times(count)}"
                for (row, j), count in found
                if row == i
            ]
            lines.append(f"{padded(name, width)} ── {', '.join(partners)}" if partners else name)
        free = sorted(set(range(len(self.columns))) - {j for _, j in self.pairs})
        return lines + [f"{' ' * (width + 4)}{in_columns(self.columns[j])}" for j in free]


def _times(count: int) -> str:
    return "" if count == 1 else f" ×{count}"


@dataclass(frozen=True)
class Attention(Links):
    """The attention between the words of two sentences.

    Attributes:
        weights: weights of the pairs, from 0 to 1.
    """

    kind: ClassVar[str] = "Attention"

    weights: tuple[float, ...]

    def shares(self) -> list[float]:
        return [min(1.0, weight) for weight in self.weights]

    def parts(self) -> list[str]:
        found = zip(super().parts(), self.weights, strict=True)
        return [f"{pair} {percent(weight)}" for pair, weight in found]

    def text(self) -> list[str]:
        names = [in_columns(name) for name in self.rows]
        width = max(map(cell_len, names))
        lines = []
        for i, name in enumerate(names):
            found = zip(self.pairs, self.weights, strict=True)
            partners = sorted(((w, j) for (row, j), w in found if row == i), reverse=True)
            told = (f"{in_columns(self.columns[j])} {percent(w)}" for w, j in partners)
            lines.append(f"{padded(name, width)} ── {', '.join(told)}" if partners else name)
        return lines


def attention(
    rows: Sequence[str], columns: Sequence[str], links: Iterable[tuple[int, int, float]]
) -> Attention:
    """The picture of links (row, column, weight). Raises ValueError for an invalid link."""
    found = sorted((int(i), int(j), float(weight)) for i, j, weight in links)
    for i, j, weight in found:
        if not (0 <= i < len(rows) and 0 <= j < len(columns) and 0 <= weight <= 1.001):
            raise ValueError(
                f"link: expected a row below {len(rows)}, a column below {len(columns)} and a "
                f"weight from 0 to 1, got {(i, j, weight)}"
            )
    pairs, weights = tuple((i, j) for i, j, _ in found), tuple(weight for *_, weight in found)
    return Attention(tuple(rows), tuple(columns), pairs, weights)


class AlignmentPath(Links):
    """One alignment."""

    kind: ClassVar[str] = "Alignment"

    def text(self) -> list[str]:
        steps = self._steps()
        rows = [in_columns(name) for name in self.rows]
        columns = [in_columns(name) for name in self.columns]
        table = [
            [
                rows[i] if i is not None else _NONE,
                "│" if i is not None and j is not None else "",
                columns[j] if j is not None else _NONE,
            ]
            for i, j in steps
        ]
        for before, step, texts in zip(steps, steps[1:], table[1:], strict=False):
            # A row or column that continues from the previous step is named once.
            for side, place in ((0, 0), (1, 2)):
                if step[side] is not None and step[side] == before[side]:
                    texts[place] = "″"
        cells = [max(1, *map(cell_len, texts)) for texts in table]
        return [row_of(row, cells, _GAP) for row in zip(*table, strict=True)]

    def _steps(self) -> list[tuple[int | None, int | None]]:
        """The pairs in order, with gaps as (row, None) and (None, column)."""
        steps: list[tuple[int | None, int | None]] = []
        i = j = 0  # the first row and column not yet reached
        for row, column in (*self.pairs, (len(self.rows), len(self.columns))):
            steps += [(k, None) for k in range(i, row)]
            steps += [(None, k) for k in range(j, column)]
            if row < len(self.rows):
                steps.append((row, column))
            i, j = row + 1, column + 1
        return steps


def matchings(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over `Matching`."""
    rows, columns = _sides(post, names)
    return [Pairing(rows, columns, pairs) for pairs in _pairs(post)]


def transports(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over `Transport`."""
    rows, columns = _sides(post, names)
    return [
        Shipment(rows, columns, pairs, tuple(int(one[pair]) for pair in pairs))
        for pairs, one in zip(_pairs(post), post.structures, strict=True)
    ]


def alignments(post: Posterior, names: Names) -> list[Picture]:
    """The pictures of a posterior over `Alignment`."""
    rows, columns = _sides(post, names)
    return [AlignmentPath(rows, columns, pairs) for pairs in _pairs(post)]


def _sides(post: Posterior, names: Names) -> tuple[tuple[str, ...], tuple[str, ...]]:
    n, m = size_of(post)
    return named(names.words, n, "words"), named(names.other, m, "other")


def _pairs(post: Posterior) -> list[tuple[tuple[int, int], ...]]:
    return [tuple((i, j) for i, j in pairs) for pairs in parts_of(post)]
