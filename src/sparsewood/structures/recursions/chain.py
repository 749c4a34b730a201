"""Linear chains: the forward algorithm."""

import torch
from torch import Tensor

from sparsewood.structures.recursions.segment_kernels import segment_kernels, shift
from sparsewood.structures.recursions.shifted import Shifted, potentials, settle, top
from sparsewood.structures.recursions.totals import Total, pick


def chain(scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
    """The total over all state sequences of each instance: (B, T, K, 1 + K) -> (B,).

    `scores[b, t, k, 0]` scores state k at t, `scores[b, t, k, 1 + j]` the step from state j at
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


def best_chains(scores: Tensor, lengths: Tensor) -> Tensor:
    """The score of the best sequence through each state and step: (B, T, K, 1 + K), as `scores`.

    -inf where no sequence uses the part.
    """
    states, steps = scores[..., 0].unbind(1), scores[..., 1:].unbind(1)
    before, after = [torch.zeros_like(states[0])], [torch.zeros_like(states[0])]
    for t in range(1, len(states)):
        best = (before[-1] + states[t - 1]).unsqueeze(1) + steps[t]  # from j to k: (B, K, K)
        before.append(best.max(-1).values)
    for t in range(len(states) - 1, 0, -1):
        best = steps[t] + (states[t] + after[-1]).unsqueeze(-1)
        ends = (lengths == t)[:, None]
        after.append(torch.where(ends, 0.0, best.max(1).values))
    through = torch.stack(before, 1) + scores[..., 0] + torch.stack(after[::-1], 1)
    into = [torch.full_like(steps[0], -torch.inf)]
    for t in range(1, len(states)):
        start = (before[t - 1] + states[t - 1]).unsqueeze(1)
        into.append(start + steps[t] + (states[t] + after[-1 - t]).unsqueeze(-1))
    return torch.cat([through.unsqueeze(-1), torch.stack(into, 1)], -1)


def shift_chain(scores: Tensor, lengths: Tensor) -> Shifted:
    """Scores as above, minus the maximum of each position and potentials around each state.

    A potential is the best score of what comes before, so that every part is left with at most 0
    and the parts of the best sequence with exactly 0. After the last position all states take the
    potential of the best sequence. The maximum of each position is subtracted first: within a
    potential it would accumulate and be rounded.
    """
    if kernels := segment_kernels(scores):
        return shift(kernels, scores, lengths, 1)
    tops = [top(table, (2, 3)) for table in (scores[..., :1], scores[..., 1:])]
    scores = scores - torch.cat([tops[0], tops[1].expand(-1, -1, -1, scores.shape[2])], -1)
    before, after = potentials(scores.detach(), 1)
    starts, ends, best = settle(before, after[:, 1:], lengths - 1)
    rises = starts[:, 1:].unsqueeze(-1) - ends[:, :-1].unsqueeze(2)  # per step: (B, T - 1, K, K)
    rises = torch.nn.functional.pad(rises, (0, 0, 0, 0, 1, 0))
    rises = torch.cat([(ends - starts).unsqueeze(-1), rises], -1)
    return Shifted(scores - rises, (tops[0] + tops[1]).flatten(1).sum(-1) + best)
