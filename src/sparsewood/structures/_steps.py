"""Sets of steps of monotone paths: their names, which paths they allow, and how many."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood.structures.recursions.monotone import LONGEST, Steps

Pairs = Iterable[tuple[int, int]]

WARPING = ((0, 1), (1, 0), (1, 1))
NAMED = {
    "speech": Steps(((0, 1), (1, 1))),
    "ctc": Steps(((0, 1), (1, 1), (2, 1)), blanks=True),
}
_NAMES = '"warping", "global", "speech", "ctc"'


def read_steps(given: Any) -> str | tuple[tuple[int, int], ...]:
    """The name of a set of steps if it has one, otherwise its pairs in increasing order."""
    if isinstance(given, str):
        if given not in (*NAMED, "warping", "global"):
            raise ValueError(f"Alignment: steps: expected {_NAMES} or pairs, got {given!r}")
        return given
    try:
        pairs = tuple(sorted({(_whole(a), _whole(b)) for a, b in given}))
    except (TypeError, ValueError):
        pairs = ()
    if not pairs or (0, 0) in pairs or not all(0 <= n <= LONGEST for pair in pairs for n in pair):
        raise ValueError(
            f"Alignment: steps: expected {_NAMES}, or pairs (rows, columns) of whole numbers from "
            f"0 to {LONGEST}, not both 0; got {given!r}"
        )
    if pairs == WARPING:
        return "warping"
    return next((name for name, one in NAMED.items() if one == Steps(pairs)), pairs)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or int(value) != value:
        raise ValueError
    return int(value)


def steps_named(given: str | Pairs) -> Steps:
    """The steps of a set that `read_steps` returned."""
    return NAMED[given] if isinstance(given, str) else Steps(tuple(given))


def leads(steps: Steps, n: int, m: int) -> bool:
    """Whether a path exists through n rows and m columns."""
    if steps.blanks:
        return n % 2 == 1 and n // 2 <= m
    return bool(_reached(steps, n, m)[n - 1] >> (m - 1) & 1)


@lru_cache(maxsize=8)
def _reached(steps: Steps, n: int, m: int) -> list[int]:
    """For each row, the columns that paths from (0, 0) reach, as bits."""
    reached: list[int] = []
    for i in range(n):
        here = int(i == 0)
        for a, b in steps.pairs:
            if 0 < a <= i:
                here |= reached[i - a] << b
        for a, b in steps.pairs:
            while a == 0 and (more := here | (here << b) & (1 << m) - 1) != here:
                here, b = more, 2 * b
        reached.append(here & (1 << m) - 1)
    return reached


def are_paths(cells: Tensor, steps: Steps, lengths: Tensor | None) -> Tensor:
    """Which of (T, n, m) bool are paths through the first `lengths` rows and columns: (T,)."""
    count, n, m = cells.shape
    rows, columns = (torch.arange(side, device=cells.device) for side in (n, m))
    # By anti-diagonal: how many cells, and the row of one.
    line = (rows[:, None] + columns).flatten().expand(count, -1)
    held = torch.zeros(count, n + m - 1, dtype=torch.int64, device=cells.device)
    row = held.scatter_add(1, line, (cells * rows[:, None]).flatten(1))
    held = held.scatter_add(1, line, cells.flatten(1).long())
    there = held == 1
    lines = torch.arange(n + m - 1, device=cells.device)
    last = torch.where(there, lines, -1).cummax(1).values  # up to each line
    before = pad(last[:, :-1], (1, 0), value=-1)
    down = row - row.gather(1, before.clamp(min=0))
    right = lines - before - down
    reach = LONGEST + 1
    allowed = torch.zeros(reach, reach, dtype=torch.bool, device=cells.device)
    allowed[tuple(zip(*steps.pairs, strict=True))] = True
    short = (down >= 0) & (down < reach) & (right >= 0) & (right < reach)
    legal = short & allowed[torch.where(short, down, 0), torch.where(short, right, 0)]
    if steps.blanks:
        legal &= (down != 2) | (row % 2 == 1)
    legal = torch.where(before < 0, steps.starts(row, lines - row), legal)
    n_own, m_own = (n, m) if lengths is None else lengths.to(cells.device).unbind(-1)
    end, height = last[:, -1], row.gather(1, last[:, -1:].clamp(min=0))[:, 0]
    at_end = (end >= 0) & (end - height == m_own - 1)
    at_end &= (height == n_own - 1) | ((height == n_own - 2) & steps.blanks)
    return (held <= 1).all(-1) & (legal | ~there).all(-1) & at_end


def count_paths(steps: Steps, n: int, m: int) -> int:
    """How many paths lead through n rows and m columns."""
    ways: dict[tuple[int, int], int] = {}
    for i in range(n):
        for j in range(m):
            ways[i, j] = int(_starts(steps, i, j)) + sum(
                ways.get(cell, 0) for cell in _before(steps, i, j)
            )
    return sum(ways.get(cell, 0) for cell in _ends(steps, n, m))


def list_paths(steps: Steps, n: int, m: int) -> list[list[tuple[int, int]]]:
    """The cells of every path through n rows and m columns."""

    def to(i: int, j: int) -> list[list[tuple[int, int]]]:
        paths = [[(i, j)]] if _starts(steps, i, j) else []
        for cell in _before(steps, i, j):
            paths += [[*path, (i, j)] for path in to(*cell)]
        return paths

    return [path for cell in _ends(steps, n, m) for path in to(*cell)]


def _starts(steps: Steps, i: int, j: int) -> bool:
    return j == 0 and (i == 0 or (steps.blanks and i == 1))


def _ends(steps: Steps, n: int, m: int) -> list[tuple[int, int]]:
    last = [(n - 1, m - 1)]
    return [*last, (n - 2, m - 1)] if steps.blanks and n > 1 else last


def _before(steps: Steps, i: int, j: int) -> list[tuple[int, int]]:
    """The cells from which a step leads to (i, j)."""
    return [
        (i - a, j - b)
        for a, b in steps.pairs
        if a <= i and b <= j and not (steps.blanks and a == 2 and i % 2 == 0)
    ]
