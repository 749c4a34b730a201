"""Segmentations: the semi-Markov forward algorithm (Sarawagi & Cohen 2004, section 3.2)."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood.structures.recursions.segment_kernels import segment_kernels, shift
from sparsewood.structures.recursions.shifted import Shifted, potentials, settle
from sparsewood.structures.recursions.totals import FORBIDDEN, Total, pick


def segmentations(scores: Tensor, lengths: Tensor | None, total: Total, max_length: int) -> Tensor:
    """The total over all segmentations of each instance: (B, T, K, D + K) -> (B,).

    `scores[b, t, k, d]` scores a segment of label k and length d + 1 that starts at t,
    `scores[b, t, k, D + j]` label k starting at t after label j. Segments that run past the end
    are FORBIDDEN.
    """
    segments = scores[..., :max_length].unbind(1)
    steps = scores[..., max_length:].unbind(1)
    before = torch.zeros_like(segments[0][..., 0])  # prefixes before a segment of label k
    pending = torch.full_like(segments[0], FORBIDDEN)  # segments that end d + 1 positions later
    ends = []
    for t, segment in enumerate(segments):
        if t > 0:
            before = total(ends[-1].unsqueeze(1) + steps[t], -1)
        pending = total(torch.stack([pending, before.unsqueeze(-1) + segment]), 0)
        ends.append(pending[..., 0])
        pending = pad(pending[..., 1:], (0, 1), value=FORBIDDEN)
    if lengths is None:
        return total(ends[-1], -1)
    return total(pick(torch.stack(ends, 1), lengths - 1), -1)


def shift_segments(scores: Tensor, lengths: Tensor, max_length: int) -> Shifted:
    """Scores as above, with potentials at the start and end of each segment subtracted.

    A potential is the best score of what comes before, so that every part is left with at most 0
    and the parts of the best segmentation with exactly 0. All ends at the last position take the
    potential of the best segmentation.
    """
    if kernels := segment_kernels(scores):
        return shift(kernels, scores, lengths, max_length)
    starts, ends, best = settle(*potentials(scores.detach(), max_length), lengths)
    positions = torch.arange(ends.shape[1], device=scores.device)
    end = (positions[:-1, None] + positions[1 : max_length + 1]).clamp(max=positions[-1])
    segments = ends[:, end].transpose(2, 3) - starts.unsqueeze(-1)  # (B, T, K, D)
    if end.shape[1] < max_length:
        segments = pad(segments, (0, max_length - end.shape[1]))
    steps = starts.unsqueeze(-1) - ends[:, :-1].unsqueeze(2)  # (B, T, K, K)
    return Shifted(scores - torch.cat([segments, steps], -1), best)
