"""Projective dependency trees in which no word has more than `most` children.

The algorithm of Eisner (see `eisner`) with child counts. A complete span stores how many children
its head has on that side. An incomplete span stores the count of its head, including the new child,
and the count of the new child on its inner side; completing it adds the two sides of the child. The
count of the root stays 0, as its children are not limited.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood._internal.lengths import lengths_or_full
from sparsewood.structures.recursions.eisner import arcs_by_width, to_the_end
from sparsewood.structures.recursions.totals import FORBIDDEN, Total, pick


def bounded_trees(
    scores: Tensor, lengths: Tensor | None, total: Total, single_root: bool, most: int
) -> Tensor:
    """The total over all such trees of each sentence: (B, n, n + 1) -> (B,)."""
    most = min(most, scores.shape[1])
    lengths = lengths_or_full(lengths, scores)
    if not single_root:
        arcs = pad(scores, (0, 0, 1, 0), value=FORBIDDEN)
        right, _ = _complete_spans(arcs, total, most, has_root=True)
        return pick(torch.stack([spans[:, 0, 0] for spans in right], 1), lengths)
    right, left = _complete_spans(scores[..., 1:], total, most, has_root=False)
    before = torch.stack([spans[:, 0] for spans in left], 1)  # (B, n, counts)
    room = [_room(spans, total) for spans in right]
    after = [to_the_end([spans[..., c] for spans in room], lengths) for c in range(most + 1)]
    return total(scores[..., 0] + total(before + torch.stack(after, -1), -1), -1)


def _complete_spans(
    arcs: Tensor, total: Total, most: int, has_root: bool
) -> tuple[list[Tensor], list[Tensor]]:
    """As `eisner.complete_spans`, (B, N - w, most + 1): by start and child count of the head."""
    batch, size, _ = arcs.shape
    rightward, leftward = arcs_by_width(arcs)
    none = pad(arcs.new_zeros(batch, size, 1), (0, most), value=FORBIDDEN)
    right, left = [none], [none]
    # Tables (B, spans, splits, counts), or (..., counts of the head, counts of the child).
    right_start = left_end = right_room = left_room = arcs.new_empty(batch, size, 0, most + 1)
    right_arcs = left_arcs = arcs.new_empty(batch, size, 0, most + 1, most + 1)
    for w in range(1, size):
        right_start = _append(right_start, right[-1])
        left_end = _prepend(left_end, left[-1])
        pairs = right_start.unsqueeze(-1) + left_end.unsqueeze(-2)
        inner = total(pairs, 2)  # (B, spans, children of the first node, of the last one)
        right_arc = _one_more(inner, has_root) + rightward[w][..., None, None]
        left_arc = _one_more(inner.mT, False) + leftward[w][..., None, None]
        right_arcs = torch.cat([right_arcs[:, :-1], right_arc.unsqueeze(2)], 2)
        left_arcs = torch.cat([left_arc.unsqueeze(2), left_arcs[:, 1:]], 2)
        right_room = _prepend(right_room, _room(right[-1], total))
        left_room = _append(left_room, _room(left[-1], total))
        right.append(_sum_splits(right_arcs + right_room.unsqueeze(-2), total))
        left.append(_sum_splits(left_arcs + left_room.unsqueeze(-2), total))
    return right, left


def _append(by_start: Tensor, widest: Tensor) -> Tensor:
    return torch.cat([by_start[:, :-1], widest[:, :-1].unsqueeze(2)], 2)


def _prepend(by_end: Tensor, widest: Tensor) -> Tensor:
    return torch.cat([widest[:, 1:].unsqueeze(2), by_end[:, 1:]], 2)


def _one_more(inner: Tensor, has_root: bool) -> Tensor:
    """Add one child to the head's count, in axis -2; the root, the first node, keeps 0."""
    counted = pad(inner[..., :-1, :], (0, 0, 1, 0), value=FORBIDDEN)
    if not has_root:
        return counted
    return torch.cat([inner[:, :1], counted[:, 1:]], 1)


def _room(spans: Tensor, total: Total) -> Tensor:
    """(..., most + 1): totals of spans whose head may have c more children on its other side."""
    count = torch.arange(spans.shape[-1], device=spans.device)
    fits = count[:, None] + count < len(count)
    return total(torch.where(fits, spans.unsqueeze(-2), FORBIDDEN), -1)


def _sum_splits(pieces: Tensor, total: Total) -> Tensor:
    """(B, spans, splits, counts, counts of the child) -> (B, spans, counts)"""
    return total(pieces.transpose(2, 3).flatten(3), -1)
