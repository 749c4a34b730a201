"""Dependency trees as text: the sentence below, the arcs above it.

         ROOT
          │╭────────╮
     ╭───╮││   ╭───╮│
     ▼   │▼│   ▼   │▼
    She  saw  the  man

All arcs from one head to one side share a line. The leg of a line without an arrowhead is at the
head, the legs with an arrowhead (▼) are at the dependents. Lines that cross (in non-projective
trees) meet in ┼; a line never branches there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sparsewood.draw._characters import cell_len, padded, row_of

ROOT = "ROOT"
_GAP = 2  # columns between two words
_CELL = 3  # columns for three legs: to left dependents, from the head, to right dependents


@dataclass
class _Line:
    """The arcs from one head to one side: a horizontal line with one leg down at each column."""

    head: int  # column of the head's leg
    dependents: list[int]  # columns of the dependents' legs
    level: int = 0  # height above the words, from 1

    @property
    def left(self) -> int:
        return min(self.head, *self.dependents)

    @property
    def right(self) -> int:
        return max(self.head, *self.dependents)


def arcs_text(
    heads: Sequence[int], words: Sequence[str], below: Sequence[Sequence[str]] = ()
) -> list[str]:
    """The rows of a drawing, of equal width on the terminal.

    Args:
        heads: (n,), the head of each word, 0 for the root, j for word j (counted from 1).
        words: the n words.
        below: rows of n texts each, written under the words.
    """
    if not words:
        return []
    cells = [max(_CELL, *map(cell_len, column)) for column in zip(words, *below, strict=True)]
    centers, width = _columns(cells)
    lines = _stacked(_lines(heads, centers))
    roots = [centers[i] for i, head in enumerate(heads) if head == 0]
    rows = [row_of(texts, cells, _GAP) for texts in (words, *below)]
    return [*_canvas(lines, roots, width), *(padded(row, width) for row in rows)]


def _columns(cells: Iterable[int]) -> tuple[list[int], int]:
    """The middle column of each cell, and the width of the drawing."""
    centers: list[int] = []
    start = 0
    for cell in cells:
        centers.append(start + (cell - 1) // 2)
        start += cell + _GAP
    return centers, max(start - _GAP, centers[-1] - 1 + len(ROOT))


def _lines(heads: Sequence[int], centers: Sequence[int]) -> list[_Line]:
    """One line per head and side with dependents."""
    groups: dict[tuple[int, int], _Line] = {}
    for i, head in enumerate(heads):
        if head == 0:
            continue
        side = 1 if i > head - 1 else -1
        line = groups.setdefault((head, side), _Line(centers[head - 1] + side, []))
        line.dependents.append(centers[i])
    return list(groups.values())


def _stacked(lines: list[_Line]) -> list[_Line]:
    """Set the level of each line: short lines lowest, overlapping lines on different levels."""
    placed: list[_Line] = []
    for line in sorted(lines, key=lambda line: (line.right - line.left, line.left)):
        below = (o.level for o in placed if o.left <= line.right and line.left <= o.right)
        line.level = 1 + max(below, default=0)
        placed.append(line)
    return placed


def _canvas(lines: list[_Line], roots: list[int], width: int) -> list[str]:
    """The rows above the words, top first."""
    top = max((line.level for line in lines), default=0)
    rows = [[" "] * width for _ in range(top + 1)]  # rows[0] holds the arrowheads

    def leg(column: int, level: int, foot: str) -> None:
        for row in range(1, level):
            rows[row][column] = "┼" if rows[row][column] == "─" else "│"
        rows[0][column] = foot

    for line in lines:
        rows[line.level][line.left : line.right + 1] = "─" * (line.right - line.left + 1)
    for line in lines:
        for column in (line.head, *line.dependents):
            corner = "╭" if column == line.left else "╮" if column == line.right else "┬"
            rows[line.level][column] = corner
            leg(column, line.level, "│" if column == line.head else "▼")
    for column in roots:
        leg(column, top + 1, "▼")
    return [_root_row(roots, width), *("".join(row) for row in reversed(rows))]


def _root_row(roots: list[int], width: int) -> str:
    row = " " * width
    for column in roots:
        row = row[: column - 1] + ROOT + row[column - 1 + len(ROOT) :]
    return row
