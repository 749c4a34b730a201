"""Scores less what all structures of an instance share, so that exponentials keep their digits.

Whatever is added to the score of every structure changes no probability; but the sum of large
scores has no digits left for their differences. So it is taken off before anything is summed.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from sparsewood.structures.recursions.totals import is_empty


@dataclass(frozen=True, eq=False)
class Shifted:
    """Scores of the steps of a recursion, and what was taken off the score of each structure.

        <theta, m(h)> = shared + <scores, s(h)>      for every structure h

    with the 0/1 parts `m(h)` and the steps `s(h)` of a structure. In most families the steps are
    the parts. Where structures differ in how many parts they use, to use none is a step as well.
    """

    scores: Tensor  # (B, *steps) float64; what is FORBIDDEN stays so
    shared: Tensor  # (B,) float64, a constant: no gradient goes through it


def top(scores: Tensor, dim: int | tuple[int, ...]) -> Tensor:
    """The largest score along `dim`, which is kept; 0 where all are forbidden. Without a graph."""
    return or_zero(scores.detach().amax(dim, keepdim=True))


def or_zero(scores: Tensor) -> Tensor:
    """0 in the place of what is forbidden."""
    return torch.where(is_empty(scores), 0.0, scores)


def on_a_grid(potential: Tensor) -> Tensor:
    """(B, ...) rounded to multiples of one power of two, so that differences of two are exact.

    Potentials that are added at one end of a step and taken off at the other may be anything; but
    if their differences were rounded, they would not add up to the same for all structures.
    """
    size = potential.abs().flatten(1).amax(-1)
    anchor = 4.0 * size.view(-1, *[1] * (potential.ndim - 1))
    return (potential + anchor) - anchor


def shift_arcs(scores: Tensor, single_root: bool) -> Shifted:
    """Arcs (B, n, n + 1), or labelled ones (B, n, n + 1, L): every word has one.

    With a single root, one arc of a tree is the root's: its column is shifted as well, before the
    rows, so that neither a large score of all root arcs nor one of all others takes digits.
    """
    labels = tuple(range(3, scores.ndim))
    if not single_root:
        rows = top(scores, (2, *labels))
        return Shifted(scores - rows, rows.flatten(1).sum(-1))
    root, words = scores[:, :, :1], scores[:, :, 1:]
    rows = top(words, (2, *labels))
    first = top(root, (1, 2, *labels))
    root = root - first - rows
    second = top(root, (1, 2, *labels))
    shared = (first + second).flatten() + rows.flatten(1).sum(-1)
    return Shifted(torch.cat([root - second, words - rows], 2), shared)
