"""Segmentations: the semi-Markov forward algorithm (Sarawagi & Cohen 2004, section 3.2)."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood.structures.recursions.totals import FORBIDDEN, Total, pick


def segmentations(scores: Tensor, lengths: Tensor | None, total: Total, max_length: int) -> Tensor:
    """The total over all segmentations of each instance: (B, T, K, D + K) -> (B,).

    `scores[b, t, k, d]` is of a segment of label k and length d + 1 that starts at t,
    `scores[b, t, k, D + j]` of label k from t on after label j. Segments that run past the end are
    FORBIDDEN.
    """
    segments = scores[..., :max_length].unbind(1)
    steps = scores[..., max_length:].unbind(1)
    before = torch.zeros_like(segments[0][..., 0])  # all that ends where a segment of k starts
    pending = torch.full_like(segments[0], FORBIDDEN)  # segments that end d + 1 positions on
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
