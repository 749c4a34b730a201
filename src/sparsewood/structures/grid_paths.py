"""Paths through a grid of costs."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from sparsewood._internal.batch import name_entry
from sparsewood.structures._bipartite import Bipartite, check_sides
from sparsewood.structures.base import Native, OwnParts

_ENUMERATE_MAX = 25  # cells


@dataclass(frozen=True)
class GridPaths(OwnParts, Bipartite):
    """Paths from the first to the last cell of a grid, in any direction.

    The parts are cells: `scores[b, i, j]`, shape (B, n, m), is minus the cost of visiting cell
    (i, j), at most 0; -inf forbids a cell. A path leads from cell (0, 0) to cell (n - 1, m - 1); it
    is the 0/1 matrix of the cells that it visits, (n, m) int64, and padding holds 0. `lengths` is
    (B, 2): the rows and columns of each instance. The MAP oracle is the algorithm of Dijkstra
    (1959), in O(n m log(n m)).

    A path visits no two adjacent cells except in succession. A path that does could be cut short,
    which costs nothing, so neither the best path nor SparseMAP loses anything by this, and the
    cells determine the path. SparseMAP asks for best paths on `scores - u` with marginals `u` of at
    least 0, which are at most 0 again. What needs best paths for other scores is refused: k best,
    canonical weights, max-marginals, the structured hinge loss, factor graphs. Sums over all paths
    are refused too, as these cannot be counted efficiently.

    For sums, samples and k best, use `Paths` of a directed acyclic graph, such as `Paths.grid`.

    Args:
        neighbours: 4 for steps along rows and columns, 8 for diagonal steps as well.

    Example:
        >>> costs = torch.tensor([[[1.0, 9.0, 1.0], [1.0, 9.0, 1.0], [1.0, 1.0, 1.0]]])
        >>> sp.GridPaths().argmax(-costs)
        tensor([[[1, 0, 0],
                 [1, 0, 0],
                 [0, 1, 1]]])
    """

    neighbours: Literal[4, 8] = 8

    costs_only = True

    def __post_init__(self) -> None:
        if self.neighbours not in (4, 8):
            raise ValueError(f"GridPaths: neighbours: expected 4 or 8, got {self.neighbours!r}")

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        """Also raise ValueError for scores above 0: a small part of the time of the oracle."""
        super().validate(scores, lengths)
        if torch.compiler.is_compiling():
            return
        bad = (scores.detach() > 0) & (scores != torch.inf) & self.reads(scores, lengths)
        if bad.any():
            at = tuple(bad.nonzero()[0].tolist())
            raise ValueError(
                f"{name_entry('scores', at, len(scores))} is {float(scores[at].detach())}: "
                f"expected costs with a minus sign, at most 0, for {self}, as a path that collects "
                "a reward would never end"
            )

    @property
    def native(self) -> Native:
        return Native("grid_paths", (int(self.neighbours == 8),))

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (T, n, m) 0/1 matrices are paths of this family: (T,)."""
        legal = (structures == 0) | ((structures == 1) & self.reads(structures, lengths))
        cells = structures == 1
        # Every cell has two neighbours on the path, the ends one, and the path is in one piece.
        ends = torch.zeros_like(structures)
        n, m = structures.shape[1:]
        sizes = torch.tensor([n, m]) if lengths is None else lengths
        row, column = (sizes.to(cells.device).expand(len(cells), 2) - 1).unbind(-1)
        everyone = torch.arange(len(cells), device=cells.device)
        ends[:, 0, 0] += 1
        ends[everyone, row, column] += 1
        degree = self._around(cells.long())
        legal &= ~cells | (degree == 2 - ends)
        piece = torch.zeros_like(cells)
        piece[:, 0, 0] = cells[:, 0, 0]
        while True:
            grown = cells & ((self._around(piece.long()) > 0) | piece)
            if torch.equal(grown, piece):
                break
            piece = grown
        at_ends = cells[:, 0, 0] & cells[everyone, row, column]
        return legal.flatten(1).all(-1) & at_ends & (piece == cells).flatten(1).all(-1)

    def _around(self, cells: Tensor) -> Tensor:
        """For each cell, how many of its neighbours are among `cells` (T, n, m) 0/1."""
        n, m = cells.shape[1:]
        wide = torch.nn.functional.pad(cells, (1, 1, 1, 1))
        total = torch.zeros_like(cells)
        for a, b in self._steps():
            total = total + wide[:, 1 + a : 1 + a + n, 1 + b : 1 + b + m]
        return total

    def _steps(self) -> list[tuple[int, int]]:
        steps = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
        return steps if self.neighbours == 8 else [(a, b) for a, b in steps if 0 in (a, b)]

    def count(self, n: int, m: int) -> int:
        """How many paths there are, by listing them; at most 25 cells."""
        return len(self._list(n, m))

    def enumerate(self, n: int, m: int) -> Tensor:
        """Every path, (count(n, m), n, m) int64; at most 25 cells."""
        paths = self._list(n, m)
        everything = torch.zeros(len(paths), n, m, dtype=torch.int64)
        for one, path in zip(everything, paths, strict=True):
            for i, j in path:
                one[i, j] = 1
        return everything

    def _list(self, n: int, m: int) -> list[list[tuple[int, int]]]:
        check_sides(n, m)
        if n * m > _ENUMERATE_MAX:
            raise ValueError(
                f"GridPaths: lists paths through at most {_ENUMERATE_MAX} cells, got ({n}, {m})"
            )
        found: list[list[tuple[int, int]]] = []
        waiting = [[(0, 0)]]
        steps = self._steps()
        while waiting:
            path = waiting.pop()
            i, j = path[-1]
            if (i, j) == (n - 1, m - 1):
                found.append(path)
                continue
            before = set(path[:-1])
            for a, b in steps:
                x, y = i + a, j + b
                touches = any((x + c, y + d) in before for c, d in steps)
                if 0 <= x < n and 0 <= y < m and (x, y) not in before and not touches:
                    waiting.append([*path, (x, y)])
        return found
