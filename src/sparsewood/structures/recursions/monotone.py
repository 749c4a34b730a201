"""Monotone paths with a chosen set of steps, computed by anti-diagonals.

The scores of steps are (B, S, n, m): [s, i, j] scores step s into cell (i, j). The first step into
a cell where paths start comes from outside the table. As in `alignment`, subtracting potentials
leaves the steps of the best path at 0 and all others at or below 0.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood import _native
from sparsewood._internal.threads import get_num_threads
from sparsewood._internal.transforms import is_transformed
from sparsewood.structures.recursions.alignment import anti_diagonals, by_cell
from sparsewood.structures.recursions.shifted import Shifted, on_a_grid, or_zero, top
from sparsewood.structures.recursions.totals import FORBIDDEN, Total, maximum, pick

LONGEST = 3  # rows or columns that a step may advance
_TRANSPOSED, _BLANKS = 1 << 16, 1 << 17  # in native/families/step_set.h


@dataclass(frozen=True)
class Steps:
    """A set of steps (rows, columns), in increasing order.

    With `blanks`, odd rows are labels and even rows blanks: a step of two rows leads only to
    labels, and paths may start in row 1 and end in the last row but one.
    """

    pairs: tuple[tuple[int, int], ...]
    blanks: bool = False

    @property
    def bits(self) -> int:
        """The steps for native code."""
        return sum(1 << 4 * a + b for a, b in self.pairs) | _BLANKS * self.blanks

    @property
    def native_options(self) -> tuple[int, int]:
        """Whether lines are antidiagonals, and the steps: see native/families/monotone.h."""
        if all(b == 1 for _, b in self.pairs):
            return 0, self.bits
        return int(any(a != 1 for a, _ in self.pairs)), self.bits | _TRANSPOSED

    def starts(self, i: Tensor, j: Tensor) -> Tensor:
        """Where paths may start."""
        return (j == 0) & ((i == 0) | ((i == 1) & self.blanks))

    def legal(self, n: int, m: int, device: torch.device) -> Tensor:
        """Which steps into which cells exist: (S, n, m) bool."""
        i, j = (torch.arange(side, device=device) for side in (n, m))
        i, j = i[:, None], j[None]
        inside = [(i >= a) & (j >= b) for a, b in self.pairs]
        if self.blanks:
            inside = [
                here & ((i % 2 == 1) | (a != 2))
                for here, (a, _) in zip(inside, self.pairs, strict=True)
            ]
        inside[0] = inside[0] | self.starts(i, j)
        return torch.stack(inside)

    def scores(self, cells: Tensor, potential: Tensor | None = None) -> Tensor:
        """Steps (B, S, n, m) of paths through cells scored (B, n, m)."""
        n, m = cells.shape[1:]
        table = cells.unsqueeze(1).expand(-1, len(self.pairs), -1, -1)
        if potential is not None:
            around = pad(potential, (LONGEST, 0, LONGEST, 0))
            before = [
                around[:, LONGEST - a : LONGEST - a + n, LONGEST - b : LONGEST - b + m]
                for a, b in self.pairs
            ]
            table = table - (potential.unsqueeze(1) - torch.stack(before, 1))
        return torch.where(self.legal(n, m, cells.device), table, FORBIDDEN)

    def shift(self, cells: Tensor, lengths: Tensor | None) -> Shifted:
        """Steps minus the potentials, and the potential of the last cell.

        If a path has one cell in each column or row, the best score there is subtracted before.
        """
        common = cells.new_zeros(len(cells))
        for side, other in ((1, 0), (0, 1)):
            if all(pair[side] == 1 for pair in self.pairs):
                best = top(cells, 1 + other)
                cells, common = cells - best, best.flatten(1).sum(-1)
                break
        potential = self._potentials(cells.detach())
        if self.blanks:
            potential = _level_ends(potential, lengths)
        potential = on_a_grid(or_zero(potential))
        return Shifted(self.scores(cells, potential), common + _at_end(potential, lengths))

    def sum(self, steps: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        """The total over all paths: (B, S, n, m) -> (B,). `lengths` (B, 2) give the last cell."""
        by_line = self._totals(steps, total)
        rows, columns = _sides(steps, lengths)
        table = torch.stack(by_line, 1)
        end = pick(pick(table, rows + columns - 2), rows - 1)
        if not self.blanks:
            return end
        before = pick(pick(table, (rows + columns - 3).clamp(min=0)), (rows - 2).clamp(min=0))
        before = torch.where(rows > 1, before, FORBIDDEN)
        return total(torch.stack([end, before]), 0)

    def taken(self, cells: Tensor) -> Tensor:
        """The steps of paths: (T, n, m) 0/1 -> (T, S, n, m) 0/1."""
        n, m = cells.shape[1:]
        around = pad(cells, (LONGEST, 0, LONGEST, 0))
        steps: list[Tensor] = [torch.empty(0)] * len(self.pairs)
        left = cells  # whose step is not known yet
        # The cell before another is the nearest that a step comes from.
        for s in sorted(range(len(self.pairs)), key=lambda s: sum(self.pairs[s])):
            a, b = self.pairs[s]
            before = around[:, LONGEST - a : LONGEST - a + n, LONGEST - b : LONGEST - b + m]
            steps[s] = left * before
            left = left - steps[s]
        steps[0] = steps[0] + left
        return torch.stack(steps, 1)

    def _totals(self, steps: Tensor, total: Total) -> list[Tensor]:
        """Totals over all paths to each cell, one (B, n) per anti-diagonal, indexed by row."""
        rows = torch.arange(steps.shape[2], device=steps.device)
        totals: list[Tensor] = []
        for d, cells in enumerate(anti_diagonals(steps)):
            ways = [
                _down(totals[d - a - b], a) + cells[:, s]
                for s, (a, b) in enumerate(self.pairs)
                if a + b <= d
            ]
            if d <= self.blanks:
                ways.append(torch.where(rows == d, cells[:, 0], FORBIDDEN))
            if not ways:
                ways = [torch.full_like(cells[:, 0], FORBIDDEN)]
            totals.append(total(torch.stack(ways), 0))
        return totals

    def _potentials(self, cells: Tensor) -> Tensor:
        """The score of the best path to each cell (B, n, m)."""
        if cells.device.type == "cpu" and not is_transformed(cells):
            found = torch.empty_like(cells, memory_format=torch.contiguous_format)
            table = cells.contiguous().numpy()
            _native.step_potentials(table, found.numpy(), self.bits, get_num_threads())
            return found
        return by_cell(self._totals(self.scores(cells), maximum), cells.shape[2])


def _level_ends(potential: Tensor, lengths: Tensor | None) -> Tensor:
    """The best potential of the last two cells of the last column, at both of them."""
    rows, columns = (side[:, None, None] for side in _sides(potential.unsqueeze(1), lengths))
    i, j = (torch.arange(side, device=potential.device) for side in potential.shape[1:])
    ends = ((i[:, None] == rows - 1) | (i[:, None] == rows - 2)) & (j == columns - 1)
    best = torch.where(ends, potential, -torch.inf).amax((1, 2), keepdim=True)
    return torch.where(ends, best, potential)


def _at_end(table: Tensor, lengths: Tensor | None) -> Tensor:
    """The last cell of each instance of a table (B, n, m): (B,)."""
    rows, columns = _sides(table.unsqueeze(1), lengths)
    return pick(pick(table, rows - 1), columns - 1)


def _sides(steps: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    """The rows and columns of each instance of steps (B, S, n, m), (B,) each."""
    if lengths is not None:
        rows, columns = lengths.unbind(-1)
        return rows, columns
    rows, columns = (
        torch.full((len(steps),), side, device=steps.device) for side in steps.shape[2:]
    )
    return rows, columns


def _down(cells: Tensor, rows: int) -> Tensor:
    """Shift by so many rows: the entry of row i moves to row i + rows."""
    return pad(cells, (rows, 0), value=FORBIDDEN)[:, : cells.shape[1]]
