"""Monotone alignments, with and without gaps, one anti-diagonal of the table after another."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood.structures.recursions.totals import FORBIDDEN, Total, pick


def warping_paths(scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
    """The total over all paths from the first cell to the last one: (B, n, m) -> (B,).

    A path steps down, right or diagonally and collects the scores of the cells it visits. `lengths`
    (B, 2) say which cell is the last.
    """
    diagonals = _anti_diagonals(scores)
    start = pad(torch.zeros_like(scores[:, :1, 0]), (0, scores.shape[1] - 1), value=FORBIDDEN)
    totals = [start + diagonals[0]]  # over all paths to each cell of an anti-diagonal: (B, n)
    for d, cells in enumerate(diagonals[1:]):
        ways = [totals[d], _down(totals[d])]
        if d > 0:
            ways.append(_down(totals[d - 1]))
        totals.append(total(torch.stack(ways), 0) + cells)
    if lengths is None:
        return totals[-1][:, -1]
    rows, columns = lengths.unbind(-1)
    return pick(pick(torch.stack(totals, 1), rows + columns - 2), rows - 1)


def gapped_alignments(scores: Tensor, total: Total) -> Tensor:
    """The total over all sets of cells that increase in row and column: (B, n, m) -> (B,).

    Over the cells above and left of a corner (i, j), `any(i, j)` sums all sets and `last(i, j)`
    those that use row i - 1, so that each set is counted once:

        last(i, j) = last(i, j - 1) + any(i - 1, j - 1) exp(scores[i - 1, j - 1])
        any(i, j)  = any(i - 1, j) + last(i, j)

    Padding needs no care: sets that use a FORBIDDEN cell count nothing.
    """
    batch, n, _ = scores.shape
    nothing = scores.new_full((batch, n), FORBIDDEN)
    one = scores.new_zeros(batch, 1)
    # Anti-diagonals of corners, by i: (B, n + 1) for any, (B, n) without i = 0 for last.
    any_before = any_now = torch.cat([one, nothing], 1)
    last = nothing
    for d, cells in enumerate([nothing, *_anti_diagonals(scores)]):
        if d > 0:
            last = total(torch.stack([last, any_before[:, :-1] + cells]), 0)
        rest = total(torch.stack([any_now[:, :-1], last]), 0)
        any_before, any_now = any_now, torch.cat([one, rest], 1)
    return any_now[:, -1]


def _down(cells: Tensor) -> Tensor:
    """What came to row i, at row i + 1."""
    return pad(cells[:, :-1], (1, 0), value=FORBIDDEN)


def _anti_diagonals(scores: Tensor) -> tuple[Tensor, ...]:
    """The cells (i, d - i) of a table (B, n, m) as (B, n) by i, for each d; FORBIDDEN outside."""
    n, m = scores.shape[1:]
    rows = torch.arange(n, device=scores.device)
    columns = torch.arange(n + m - 1, device=scores.device)[:, None] - rows  # [d, i]
    inside = (columns >= 0) & (columns < m)
    cells = scores[:, rows.expand_as(columns), torch.where(inside, columns, 0)]
    return torch.where(inside, cells, FORBIDDEN).unbind(1)
