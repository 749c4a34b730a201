"""Linear chains: the forward algorithm."""

import torch
from torch import Tensor

from sparsewood.structures.recursions.totals import Total, pick


def chain(scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
    """The total over all state sequences of each instance: (B, T, K, 1 + K) -> (B,).

    `scores[b, t, k, 0]` is of state k at t, `scores[b, t, k, 1 + j]` of the step from state j at
    t - 1 to k at t.
    """
    states = scores[..., 0].unbind(1)
    steps = scores[..., 1:].unbind(1)
    ends = [states[0]]  # the total over all sequences that end at t in state k: (B, K)
    for state, step in zip(states[1:], steps[1:], strict=True):
        ends.append(total(ends[-1].unsqueeze(1) + step, -1) + state)
    if lengths is None:
        return total(ends[-1], -1)
    return total(pick(torch.stack(ends, 1), lengths - 1), -1)
