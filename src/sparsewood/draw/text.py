"""Dependency trees as text: the sentence below, the arcs above it.

         ROOT
          │╭────────╮
     ╭───╮││   ╭───╮│
     ▼   │▼│   ▼   │▼
    She  saw  the  man

All arcs from one head to one side share a line. The leg of a line without an arrowhead stands on
the head, the legs with one (▼) stand on the dependents. Two lines that only cross (a non-projective
tree has such) meet in ┼; a line never branches there. Where heads are given to compare with, a
row below the words marks those that agree (✓) and those that differ (✗).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from sparsewood.draw._trees import (
    Drawable,
    Heads,
    agreement,
    checked,
    checked_heads,
    percent,
    printable,
)

if TYPE_CHECKING:
    from sparsewood.posterior import SparsePosterior

ROOT = "ROOT"
_GAP = 2  # columns between two words
_CELL = 3  # a word has three legs: to its left dependents, from its head, to its right dependents
_BAR = 20  # columns of a probability of one


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


def tree_text(heads: Heads, words: Sequence[str], given: Heads | None = None) -> str:
    """Draws one dependency tree.

    Args:
        heads: (n,) integers: the head of each word, 0 for the root, j for word j (counted from 1).
            Padding (-1) beyond the words is left out.
        words: the n words of the sentence.
        given: (n,) heads to compare with.

    Returns:
        Lines of equal width on the terminal (wide and combining characters are measured).
    """
    words = [printable(word) for word in words]
    arcs = checked_heads(heads, len(words), "tree_text")
    if not words:
        return ""
    centers, width = _columns(words)
    lines = _stacked(_lines(arcs, centers))
    roots = [centers[i] for i, head in enumerate(arcs) if head == 0]
    rows = [*_canvas(lines, roots, width), _below(words, words, width)]
    if given is not None:
        wanted = checked_heads(given, len(words), "given heads")
        marks = ["✓" if a == b else "✗" for a, b in zip(arcs, wanted, strict=True)]
        rows.append(_below(words, marks, width))
    return "\n".join(rows)


def trees_text(drawable: Drawable, k: int | None = None) -> str:
    """Draws the trees of one sentence one under another, the `k` most probable; by default all."""
    trees, weights = drawable.trees, drawable.weights
    shown = len(trees) if k is None else min(k, len(trees))
    blocks = []
    for heads, weight in zip(trees[:shown], weights[:shown], strict=True):
        title = f"{_bar(weight)}  {agreement(heads, drawable.given)}".rstrip()
        blocks.append(f"{title}\n{tree_text(heads, drawable.words, drawable.given)}")
    if shown < len(trees):
        rest = len(trees) - shown
        blocks.append(f"and {rest} more, together {percent(sum(weights[shown:]))}")
    return "\n\n".join(blocks)


def posterior_text(
    post: SparsePosterior,
    words: Sequence[str],
    instance: int = 0,
    k: int | None = None,
    given: Heads | None = None,
) -> str:
    """Draws the trees of one instance of a posterior, the most probable first.

    Args:
        post: a posterior over dependency trees.
        words: the words of that instance.
        instance: which element of the batch.
        k: how many trees to draw; all by default.
        given: (n,) heads to compare with.
    """
    one = post[instance]
    return trees_text(checked(words, one.structures.tolist(), one.weights.tolist(), given), k)


def _centered(text: str, width: int) -> str:
    left = (width - cell_len(text)) // 2
    return " " * left + text + " " * (width - cell_len(text) - left)


def _below(words: Sequence[str], texts: Sequence[str], width: int) -> str:
    """A row with one text centred under the arcs of each word."""
    cells = (_centered(text, _cell(word)) for word, text in zip(words, texts, strict=True))
    row = (" " * _GAP).join(cells)
    return row + " " * (width - cell_len(row))


def _cell(word: str) -> int:
    return max(_CELL, cell_len(word))


def _columns(words: Iterable[str]) -> tuple[list[int], int]:
    """The middle column of each word, and the width of the drawing."""
    centers: list[int] = []
    start = 0
    for word in words:
        centers.append(start + (_cell(word) - 1) // 2)
        start += _cell(word) + _GAP
    return centers, max(start - _GAP, centers[-1] - 1 + len(ROOT))


def _lines(heads: Sequence[int], centers: Sequence[int]) -> list[_Line]:
    """One line for each head and side that has dependents."""
    groups: dict[tuple[int, int], _Line] = {}
    for i, head in enumerate(heads):
        if head == 0:
            continue
        side = 1 if i > head - 1 else -1
        line = groups.setdefault((head, side), _Line(centers[head - 1] + side, []))
        line.dependents.append(centers[i])
    return list(groups.values())


def _stacked(lines: list[_Line]) -> list[_Line]:
    """Gives each line its level: short lines low, lines that overlap on different levels."""
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


def _bar(weight: float) -> str:
    filled = round(min(weight, 1) * _BAR)
    return f"{percent(weight):>6}  {'█' * filled}{'░' * (_BAR - filled)}"
