"""Tables over spans, stored by width, and their entries for both parts of every split."""

from collections.abc import Sequence

import torch
from torch import Tensor


def left_parts(levels: Sequence[Tensor]) -> Tensor:
    """The entries of the left part of each split of each span of the next width.

    Args:
        levels: for each width v from 1 to w - 1 a table (B, n - v + 1, ...), indexed by the first
            word of the span.

    Returns:
        (B, w - 1, n - w + 1, ...): entry [b, m, i] is for the words i to i + m.
    """
    spans = levels[0].shape[1] - len(levels)
    return torch.stack([level[:, :spans] for level in levels], 1)


def right_parts(levels: Sequence[Tensor]) -> Tensor:
    """As `left_parts`, for right parts: entry [b, m, i] is for the words i + m + 1 to i + w - 1."""
    return torch.stack([level[:, m:] for m, level in enumerate(reversed(levels), 1)], 1)


def whole(levels: Sequence[Tensor], lengths: Tensor) -> Tensor:
    """The entries (B, ...) of whole sentences of `lengths` (B,)."""
    first = torch.stack([level[:, 0] for level in levels], 1)
    return first[torch.arange(len(first), device=first.device), lengths - 1]
