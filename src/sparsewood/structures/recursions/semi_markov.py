"""Segmentations: the semi-Markov forward algorithm (Sarawagi & Cohen 2004, section 3.2)."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood.structures.recursions.shifted import Shifted, on_a_grid, or_zero, top
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


def shift_segments(scores: Tensor, lengths: Tensor, max_length: int) -> Shifted:
    """Scores as above, with a potential at each cut between two positions.

    The segments of a segmentation rise from the potential at 0 to that at the end, whatever their
    number. The potential is the best score of what comes before, labels apart; so no segment has
    more than 0 left, with the best step to it.
    """
    positions, labels = scores.shape[1:3]
    segments = scores.detach()[..., :max_length].amax(2)
    step = top(scores[..., max_length:], (2, 3))
    reached = [torch.zeros_like(segments[:, 0, 0])]
    pending = torch.full_like(segments[:, 0], FORBIDDEN)
    for t in range(positions):
        here = (reached[-1] + step[:, t, 0, 0]).unsqueeze(-1) + segments[:, t]
        pending = torch.maximum(pending, here)
        reached.append(pending[:, 0])
        pending = pad(pending[:, 1:], (0, 1), value=FORBIDDEN)
    potential = on_a_grid(or_zero(torch.stack(reached, 1)))
    starts = torch.arange(positions, device=scores.device)
    ends = starts[:, None] + torch.arange(1, max_length + 1, device=scores.device)
    rise = potential[:, ends.clamp(max=positions)] - potential[:, :-1, None]  # (B, T, D)
    rise = torch.cat([rise.unsqueeze(2), step.expand(-1, -1, -1, labels)], -1)
    back = pad(step.expand(-1, -1, -1, max_length), (0, labels))
    return Shifted(scores - rise + back, pick(potential, lengths))
