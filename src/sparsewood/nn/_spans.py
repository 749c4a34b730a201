"""Tables over the spans of sentences, kept by width: what both parts of every split hold."""

from collections.abc import Sequence

import torch
from torch import Tensor


def left_parts(levels: Sequence[Tensor]) -> Tensor:
    """What the left part of each split of each span of the next width holds.

    Args:
        levels: for each width v from 1 to w - 1 a table (B, n - v + 1, ...) of the spans, by their
            first word.

    Returns:
        (B, w - 1, n - w + 1, ...): entry [b, m, i] is that of the words i to i + m.
    """
    spans = levels[0].shape[1] - len(levels)
    return torch.stack([level[:, :spans] for level in levels], 1)


def right_parts(levels: Sequence[Tensor]) -> Tensor:
    """The same of the right parts: entry [b, m, i] is that of the words i + m + 1 to i + w - 1."""
    return torch.stack([level[:, m:] for m, level in enumerate(reversed(levels), 1)], 1)


def whole(levels: Sequence[Tensor], lengths: Tensor) -> Tensor:
    """The entries (B, ...) of whole sentences of `lengths` (B,)."""
    first = torch.stack([level[:, 0] for level in levels], 1)
    return first[torch.arange(len(first), device=first.device), lengths - 1]
