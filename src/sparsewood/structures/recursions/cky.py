"""Binary trees: the inside algorithm over spans (Baker 1979), all spans of a width at once."""

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._internal.transforms import is_transformed
from sparsewood.structures.recursions.shifted import Shifted, or_zero, top
from sparsewood.structures.recursions.totals import FORBIDDEN, Total, pick


def binary_trees(scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
    """The total over all binary trees of each sentence: (B, n, n) -> (B,).

    `scores[b, i, j]` scores the span of words i to j, both included:

        inside(i, j) = scores[i, j] + sum_m  inside(i, m) inside(m + 1, j)

    Smaller spans are stored by their first and by their last word, in tables (B, spans of this
    width, splits m) that hold only what the current width reads.
    """
    spans = _by_width(scores)
    inside = [spans[0]]
    by_start = by_end = scores.new_empty(*scores.shape[:2], 0)
    for here in spans[1:]:
        by_start = torch.cat([by_start[:, :-1], inside[-1][:, :-1, None]], -1)
        by_end = torch.cat([inside[-1][:, 1:, None], by_end[:, 1:]], -1)
        inside.append(total(by_start + by_end, -1) + here)
    whole = torch.stack([cells[:, 0] for cells in inside], 1)
    return whole[:, -1] if lengths is None else pick(whole, lengths - 1)


def _by_width(scores: Tensor) -> list[Tensor]:
    """The spans (i, i + w) for each width w, as (B, n - w) indexed by i."""
    n = scores.shape[1]
    start = torch.arange(n, device=scores.device)
    end = start[:, None] + start  # [w, i]
    table = scores[:, start.expand_as(end), torch.where(end < n, end, 0)].unbind(1)
    return [cells[:, : n - w] for w, cells in enumerate(table)]


def shift_spans(scores: Tensor, lengths: Tensor) -> Shifted:
    """Shift the scores of spans, (B, n, n) or labelled (B, n, n, L).

    Every tree has the single words, the whole sentence and n - 2 other spans.
    """
    if scores.device.type == "cpu" and not is_transformed(scores) and scores.is_contiguous():
        # The constant carries no gradient. In place, as memory is the main cost.
        shared = torch.empty(len(scores), dtype=scores.dtype)
        table = scores.detach()
        table = table.unsqueeze(-1) if table.ndim == 3 else table
        _native.shift_spans(table.numpy(), lengths.contiguous().numpy(), shared.numpy())
        return Shifted(scores, shared)
    best = scores.detach() if scores.ndim == 3 else scores.detach().amax(-1)
    words = torch.arange(best.shape[1], device=best.device)
    whole = (words[:, None] == 0) & (words == lengths[:, None, None] - 1)
    in_all = whole | (words[:, None] == words)
    between = top(torch.where(in_all, FORBIDDEN, best), (1, 2))
    tops = torch.where(in_all, or_zero(best), between)
    shared = torch.where(in_all, tops, 0.0).sum((1, 2))
    shared += between.flatten() * (lengths - 2).clamp(min=0)
    return Shifted(scores - (tops if scores.ndim == 3 else tops.unsqueeze(-1)), shared)
