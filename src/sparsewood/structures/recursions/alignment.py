"""Monotone alignments, with and without gaps, computed by anti-diagonals.

Both are walks through a table, scored by their steps, (B, 3, n, m): [i, j] scores the step into
(i, j) from the left, from above and from the diagonal. Subtracting potentials (the score of the
best walk to each cell) leaves the steps of the best walk at 0 and all others at or below 0.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood import _native
from sparsewood._internal.threads import get_num_threads
from sparsewood._internal.transforms import is_transformed
from sparsewood.structures.recursions.shifted import Shifted, on_a_grid, or_zero
from sparsewood.structures.recursions.totals import FORBIDDEN, Total, maximum, pick


def path_steps(scores: Tensor, potential: Tensor | None = None) -> Tensor:
    """Steps (B, 3, n, m) of paths through cells scored (B, n, m).

    The step into the first cell comes from outside the table.
    """
    n, m = scores.shape[1:]
    down, right = (torch.arange(side, device=scores.device) > 0 for side in (n, m))
    down = down[:, None].expand(n, m)
    legal = torch.stack([right.expand(n, m), down, (down & right) | ~(down | right)])
    steps = scores.unsqueeze(1).expand(-1, 3, -1, -1)
    if potential is not None:
        steps = steps - _rises(pad(potential, (1, 0, 1, 0)))
    return torch.where(legal, steps, FORBIDDEN)


def shift_paths(scores: Tensor, lengths: Tensor | None) -> Shifted:
    """Steps minus the potentials, and the potential of the last cell."""
    potential = on_a_grid(or_zero(_best(scores, gaps=False)))
    return Shifted(path_steps(scores, potential), _last(potential, lengths))


def warping_paths(steps: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
    """The total over all paths from the first to the last cell: (B, 3, n, m) -> (B,).

    `lengths` (B, 2) determine the last cell.
    """
    totals = _path_totals(steps, total)
    if lengths is None:
        return totals[-1][:, -1]
    rows, columns = lengths.unbind(-1)
    return pick(pick(torch.stack(totals, 1), rows + columns - 2), rows - 1)


def _path_totals(steps: Tensor, total: Total) -> list[Tensor]:
    """Totals over all paths to each cell, one (B, n) per anti-diagonal, indexed by row."""
    diagonals = anti_diagonals(steps)
    totals = [diagonals[0][:, 2]]
    for d, cells in enumerate(diagonals[1:]):
        left, above, corner = cells.unbind(1)
        ways = [totals[d] + left, _down(totals[d]) + above]
        if d > 0:
            ways.append(_down(totals[d - 1]) + corner)
        totals.append(total(torch.stack(ways), 0))
    return totals


def steps_of_paths(cells: Tensor) -> Tensor:
    """The steps of paths: (T, n, m) 0/1 -> (T, 3, n, m) 0/1."""
    left = cells * pad(cells[:, :, :-1], (1, 0))
    above = cells * pad(cells[:, :-1], (0, 0, 1, 0))
    return torch.stack([left, above, cells - left - above], 1)


def gap_steps(scores: Tensor, potential: Tensor | None = None) -> Tensor:
    """Steps (B, 3, n, m) between the corners of cells scored (B, n, m): see `_gap_totals`.

    A step from the left skips a column, a step from above skips a row, a diagonal step uses a
    cell. `potential` (B, n + 1, m + 1) is the potential of the corners.
    """
    steps = pad(scores.unsqueeze(1), (0, 0, 0, 0, 2, 0))
    return steps if potential is None else steps - _rises(potential)


def shift_gapped(scores: Tensor) -> Shifted:
    """Steps minus the potentials, and the potential of the last corner."""
    potential = on_a_grid(_best(scores, gaps=True))
    return Shifted(gap_steps(scores, potential), potential[:, -1, -1])


def gapped_alignments(steps: Tensor, total: Total) -> Tensor:
    """The total over all sets of cells that increase in row and column: (B, 3, n, m) -> (B,)."""
    return _gap_totals(steps, total)[-1][:, -1]


def _gap_totals(steps: Tensor, total: Total) -> list[Tensor]:
    """Totals over all sets above and left of each corner, one (B, n + 1) per anti-diagonal.

    Over the cells above and left of a corner (i, j), `any(i, j)` sums all sets and `last(i, j)`
    the sets that use row i - 1, so that each set is counted once:

        last(i, j) = last(i, j - 1) left + any(i - 1, j - 1) corner
        any(i, j)  = any(i - 1, j) above + last(i, j)

    Padding needs no special case: sets that use a FORBIDDEN cell contribute nothing.
    """
    batch, _, n, _ = steps.shape
    nothing = steps.new_full((batch, n), FORBIDDEN)
    one = steps.new_zeros(batch, 1)
    lefts, _, corners = (anti_diagonals(table) for table in steps.unbind(1))
    rows = anti_diagonals(pad(steps[:, 1], (1, 0)))  # skipping a row left of all columns scores 0
    # Anti-diagonals of corners, by i: (B, n + 1) for any, (B, n) without i = 0 for last.
    totals = [torch.cat([one, nothing], 1)]
    last = nothing
    for d, above in enumerate(rows):
        if d > 0:
            ways = [last + lefts[d - 1], totals[d - 1][:, :-1] + corners[d - 1]]
            last = total(torch.stack(ways), 0)
        rest = total(torch.stack([totals[d][:, :-1] + above, last]), 0)
        totals.append(torch.cat([one, rest], 1))
    return totals


def steps_of_gapped(cells: Tensor) -> Tensor:
    """The steps of sets of cells: (T, n, m) 0/1 -> (T, 3, n, m) 0/1."""
    m = cells.shape[2]
    columns = torch.arange(m, device=cells.device)
    used = cells.bool().any(-1)
    column = torch.where(used, cells.argmax(-1), m)
    below = column.flip(1).cummin(1).values.flip(1)  # the first column of this row and later ones
    limit = pad(below[:, 1:], (0, 1), value=m).unsqueeze(-1)
    passed = used.unsqueeze(-1) & (column.unsqueeze(-1) < columns) & (columns < limit)
    skipped = ~used.unsqueeze(-1) & (columns == limit - 1)
    return torch.stack([passed.to(cells), skipped.to(cells), cells], 1)


def _best(scores: Tensor, gaps: bool) -> Tensor:
    """The score of the best walk to each cell (B, n, m), or corner (B, n + 1, m + 1)."""
    batch, n, m = scores.shape
    if scores.device.type == "cpu" and not is_transformed(scores):
        found = scores.new_empty(batch, n + gaps, m + gaps)
        table = scores.detach().contiguous().numpy()
        _native.alignment_potentials(table, found.detach().numpy(), gaps, get_num_threads())
        return found
    if gaps:
        return by_cell(_gap_totals(gap_steps(scores.detach()), maximum), m + 1)
    return by_cell(_path_totals(path_steps(scores.detach()), maximum), m)


def _rises(potential: Tensor) -> Tensor:
    """The potential difference of each step: (B, n + 1, m + 1) -> (B, 3, n, m)."""
    before = [potential[:, 1:, :-1], potential[:, :-1, 1:], potential[:, :-1, :-1]]
    return potential[:, None, 1:, 1:] - torch.stack(before, 1)


def _last(table: Tensor, lengths: Tensor | None) -> Tensor:
    """The last cell of each instance of a table (B, n, m)."""
    if lengths is None:
        return table[:, -1, -1]
    rows, columns = lengths.unbind(-1)
    return pick(pick(table, rows - 1), columns - 1)


def _down(cells: Tensor) -> Tensor:
    """Shift by one row: the entry of row i moves to row i + 1."""
    return pad(cells[:, :-1], (1, 0), value=FORBIDDEN)


def anti_diagonals(table: Tensor) -> tuple[Tensor, ...]:
    """The anti-diagonals of (B, ..., n, m): for each d the cells (i, d - i) as (B, ..., n).

    Entries outside the table are FORBIDDEN.
    """
    n, m = table.shape[-2:]
    rows = torch.arange(n, device=table.device)
    columns = torch.arange(n + m - 1, device=table.device)[:, None] - rows  # [d, i]
    inside = (columns >= 0) & (columns < m)
    cells = table[..., rows.expand_as(columns), torch.where(inside, columns, 0)]
    return torch.where(inside, cells, FORBIDDEN).unbind(-2)


def by_cell(diagonals: list[Tensor], m: int) -> Tensor:
    """The inverse of `anti_diagonals`: n + m - 1 tensors (B, n) -> (B, n, m)."""
    rows = torch.arange(diagonals[0].shape[1], device=diagonals[0].device)[:, None]
    columns = torch.arange(m, device=rows.device)
    return torch.stack(diagonals, 1)[:, rows + columns, rows.expand(-1, m)]
