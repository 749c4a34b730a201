"""Projective dependency trees: the inside algorithm of Eisner (1996).

Nodes are at positions 0..N-1. A *span* from i to j is headed by one of its ends. It is complete if
its other end takes no more children inside, incomplete if the two ends are joined by an arc:

    incomplete(i, j) = arc + sum_m  right(i, m) left(m + 1, j)     (for both directions of the arc)
    right(i, j) = sum_m  incomplete(i -> m) right(m, j)            (headed by i)
    left(i, j)  = sum_m  left(i, m) incomplete(j -> m)             (headed by j)

All spans of one width are computed at once. Smaller spans are stored twice, by their first and by
their last position, in tables (B, spans of this width, splits m) that hold only what the current
width reads.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood._internal.lengths import lengths_or_full
from sparsewood.structures.recursions.totals import FORBIDDEN, Total, pick


def projective_trees(
    scores: Tensor, lengths: Tensor | None, total: Total, single_root: bool
) -> Tensor:
    """The total over all projective trees of each sentence: (B, n, n + 1) -> (B,)."""
    lengths = lengths_or_full(lengths, scores)
    if not single_root:
        # The root is left of the first word, and no arc leads to it.
        right, _ = complete_spans(pad(scores, (0, 0, 1, 0), value=FORBIDDEN), total)
        return pick(torch.stack([spans[:, 0] for spans in right], 1), lengths)
    right, left = complete_spans(scores[..., 1:], total)
    before = torch.stack([spans[:, 0] for spans in left], 1)  # (B, n): the words up to r, under r
    return total(scores[..., 0] + before + to_the_end(right, lengths), -1)


def to_the_end(right: list[Tensor], lengths: Tensor) -> Tensor:
    """(B, n): the span from each word to the end of the sentence, headed by that word."""
    n = len(right)
    table = torch.stack([pad(spans, (0, n - spans.shape[1])) for spans in right], 1)
    words = torch.arange(n, device=lengths.device)
    width = lengths[:, None] - 1 - words  # negative for padding
    found = table.gather(1, width.clamp(min=0)[:, None]).squeeze(1)
    return torch.where(width >= 0, found, FORBIDDEN)


def complete_spans(arcs: Tensor, total: Total) -> tuple[list[Tensor], list[Tensor]]:
    """Complete spans headed by their first and by their last node.

    `arcs[b, i, j]`, (B, N, N), scores the arc from head j to node i. Both lists hold (B, N - w) for
    each width w = 0..N-1, indexed by the first position of the span.
    """
    size = arcs.shape[-1]
    rightward, leftward = arcs_by_width(arcs)
    ones = arcs.new_zeros(*arcs.shape[:-1])
    right, left = [ones], [ones]
    # Tables (B, spans, splits) of the two spans that are combined. For arcs, `right_start` and
    # `left_end`: complete spans by first and by last position. For complete spans, `first` and
    # `second`, (2, ...): right and left spans, each made of an incomplete and a complete span.
    right_start = arcs.new_empty(*arcs.shape[:-1], 0)
    left_end = right_start
    first = second = right_start.expand(2, *right_start.shape)
    for w in range(1, size):
        right_start = torch.cat([right_start[:, :-1], right[-1][:, :-1, None]], -1)
        left_end = torch.cat([left[-1][:, 1:, None], left_end[:, 1:]], -1)
        inner = total(right_start + left_end, -1)
        pieces = torch.stack([inner + rightward[w], left[-1][:, :-1]])
        first = torch.cat([first[:, :, :-1], pieces[..., None]], -1)
        pieces = torch.stack([right[-1][:, 1:], inner + leftward[w]])
        second = torch.cat([pieces[..., None], second[:, :, 1:]], -1)
        headed_by_start, headed_by_end = total(first + second, -1).unbind(0)
        right.append(headed_by_start)
        left.append(headed_by_end)
    return right, left


def arcs_by_width(arcs: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Arcs i -> i + w and i + w -> i for each width w, each (B, N - w) indexed by i."""
    size = arcs.shape[-1]
    start = torch.arange(size, device=arcs.device)
    end = start[:, None] + start  # [w, i]
    end = torch.where(end < size, end, 0)
    rightward = arcs[:, end, start.expand_as(end)].unbind(1)
    leftward = arcs[:, start.expand_as(end), end].unbind(1)
    return (
        [table[:, : size - w] for w, table in enumerate(rightward)],
        [table[:, : size - w] for w, table in enumerate(leftward)],
    )
