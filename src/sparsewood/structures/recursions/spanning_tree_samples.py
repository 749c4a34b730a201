r"""Exact samples of non-projective dependency trees, one word after another.

The head of word i is drawn from its marginals given the heads drawn so far. Fixing head j of word i
replaces row i of the Laplacian and changes its inverse B by a matrix of rank one (Colbourn, Myrvold
& Neufeld 1996, "Two algorithms for unranking arborescences"; Zmigrod, Vieira & Cotterell 2021,
"Efficient sampling of dependency structures", section 4):

    p(j) = w[i, j] q(j),    q(j) = row(j) B[:, i],    B <- B - B[:, i] (row(j) B - e_i) / q(j)

If the inverse is too large to be accurate, or the p(j) do not sum to one, `elimination` recomputes
the marginals for each word instead.
"""

import torch
from torch import Tensor

from sparsewood.structures.recursions.elimination import eliminate
from sparsewood.structures.recursions.spanning_trees import is_lost, laplacian, scaled_weights
from sparsewood.structures.recursions.totals import FORBIDDEN

_ROUNDING = 1e-7  # tolerance on the sum of the probabilities of a word's heads


def sample_spanning_trees(
    scores: Tensor, lengths: Tensor | None, single_root: bool, generator: torch.Generator | None
) -> Tensor:
    """One tree per sentence as arcs: (B, n, n + 1) -> (B, n, n + 1) 0/1."""
    n = scores.shape[1]
    heads, drawn = _by_updates(scores, lengths, single_root, generator)
    rows = (drawn < n).nonzero().squeeze(1)
    if len(rows):
        limits = None if lengths is None else lengths[rows]
        heads[rows] = _by_elimination(
            scores[rows], limits, single_root, generator, heads[rows], drawn[rows]
        )
    arcs = torch.zeros_like(scores).scatter_(2, heads.unsqueeze(-1), 1.0)
    if lengths is not None:
        arcs[torch.arange(n, device=scores.device) >= lengths[:, None]] = 0.0
    return arcs


def _by_updates(
    scores: Tensor, lengths: Tensor | None, single_root: bool, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Heads (B, n), and (B,) how many of the first heads were drawn accurately."""
    batch, n, _ = scores.shape
    weights, _ = scaled_weights(scores, lengths, single_root)
    inverse = torch.linalg.inv_ex(laplacian(weights, lengths, single_root)).inverse
    good = ~is_lost(inverse)
    drawn = torch.where(good, n, 0)
    heads = torch.zeros(batch, n, dtype=torch.int64, device=scores.device)
    here = torch.arange(batch, device=scores.device)
    for i in range(n):
        ratio = _ratios(inverse[:, :, i], i, single_root)
        share = (weights[:, i] * ratio).clamp(min=0.0).nan_to_num(0.0)
        if lengths is not None:  # padding words get the root as head
            share[:, 0] = torch.where(i < lengths, share[:, 0], 1.0)
        fine = (share.sum(-1) - 1).abs() < _ROUNDING
        drawn = torch.where(good & ~fine, i, drawn)
        good &= fine
        share[~good] = 1.0
        head = torch.multinomial(share, 1, generator=generator).squeeze(1)
        heads[:, i] = head
        row = _row(inverse, i, head, single_root)
        row[:, i] -= 1.0
        row /= ratio[here, head].unsqueeze(-1)
        inverse = torch.baddbmm(inverse, inverse[:, :, i, None], row.unsqueeze(1), alpha=-1.0)
    return heads, drawn


def _ratios(column: Tensor, i: int, single_root: bool) -> Tensor:
    """q(j) for the root and all words, (B, n + 1), from column i of B, (B, n)."""
    root = column[:, 0] if single_root else column[:, i]
    if single_root:  # the first column of the Laplacian is the root's
        column = column.clone()
        column[:, 0] = 0.0
    return torch.cat([root.unsqueeze(-1), column[:, i, None] - column], -1)


def _row(inverse: Tensor, i: int, head: Tensor, single_root: bool) -> Tensor:
    """row(j) B for the head j drawn for word i: (B, n)."""
    here = torch.arange(len(head), device=head.device)
    taken = inverse[here, (head - 1).clamp(min=0)]
    # The row of word i is e_i - e_j. With a single root, the first entry of each row is the root's.
    taken = torch.where((head > single_root).unsqueeze(-1), taken, 0.0)
    if not single_root:
        return inverse[:, i] - taken
    row = -taken if i == 0 else inverse[:, i] - taken
    return torch.where((head == 0).unsqueeze(-1), inverse[:, 0], row)


def _by_elimination(
    scores: Tensor,
    lengths: Tensor | None,
    single_root: bool,
    generator: torch.Generator | None,
    heads: Tensor,
    drawn: Tensor,
) -> Tensor:
    """`heads` (B, n), redrawn after the first `drawn` (B,) words of each sentence."""
    heads = heads.clone()
    words = torch.arange(scores.shape[1], device=scores.device)
    columns = torch.arange(scores.shape[2], device=scores.device)
    allowed = (words >= drawn[:, None]).unsqueeze(-1) | (columns == heads.unsqueeze(-1))
    scores = torch.where(allowed, scores.detach(), FORBIDDEN)
    for i in range(int(drawn.min()), scores.shape[1]):
        with torch.enable_grad():
            leaf = scores.clone().requires_grad_()
            log_partition = eliminate(leaf, lengths, single_root)
            (marginals,) = torch.autograd.grad(log_partition.sum(), leaf)
        share = marginals[:, i].clamp(min=0.0)
        if lengths is not None:
            share[:, 0] = torch.where(i < lengths, share[:, 0], 1.0)
        heads[:, i] = torch.multinomial(share, 1, generator=generator).squeeze(1)
        scores[:, i] = torch.where(columns == heads[:, i, None], scores[:, i], FORBIDDEN)
    return heads
