"""Tables over the spans of sentences, kept by width: what both parts of every split hold."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad


def padded(level: Tensor, words: int) -> Tensor:
    """A table (B, spans, ...) of the spans of one width by their first word, as (B, words, ...)."""
    missing = words - level.shape[1]
    return pad(level, (*[0, 0] * (level.ndim - 2), 0, missing)) if missing else level


def left_parts(levels: Sequence[Tensor]) -> Tensor:
    """What the left part of each split of each span of the next width holds.

    Args:
        levels: a table (B, n, ...) for each width from 1 to w - 1, by the first word of the span.

    Returns:
        (B, w - 1, spans, ...) over the n - w + 1 spans of width w: entry [b, m, i] is that of the
        words i to i + m.
    """
    spans = levels[0].shape[1] - len(levels)
    return torch.stack(list(levels), 1)[:, :, :spans]


def right_parts(levels: Sequence[Tensor]) -> Tensor:
    """The same of the right parts: entry [b, m, i] is that of the words i + m + 1 to i + w - 1."""
    k, n = len(levels), levels[0].shape[1]
    newest_first = torch.stack(list(levels)[::-1], 1).flatten(1, 2)
    # Row m begins m + 1 words further on: rows of n + 1 entries, the first entry left out.
    rest = newest_first.new_zeros(len(newest_first), k + 1, *newest_first.shape[2:])
    rows = torch.cat([newest_first[:, 1:], rest], 1).unflatten(1, (k, n + 1))
    return rows[:, :, : n - k]


def whole(levels: Sequence[Tensor], lengths: Tensor) -> Tensor:
    """The entries (B, ...) of whole sentences of `lengths` (B,), from tables (B, spans, ...)."""
    first = torch.stack([level[:, 0] for level in levels], 1)
    return first[torch.arange(len(first), device=first.device), lengths - 1]
