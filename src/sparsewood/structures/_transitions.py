"""Start, end and transition scores of chains and segmentations."""

import torch
from torch import Tensor

from sparsewood._internal.lengths import shared_lengths


def check_ends(
    what: str, table: Tensor, batch: tuple[int, ...], start: Tensor | None, end: Tensor | None
) -> None:
    """Raise ValueError unless each is None, (K,) or (*batch, K), for `table` (*batch, ..., K)."""
    states = table.shape[-1]
    for name, scores in (("start", start), ("end", end)):
        if scores is not None:
            _check_shape(name, scores, what, table, (states,), (*batch, states))


def ends(lengths: Tensor | None, table: Tensor, batch: tuple[int, ...]) -> Tensor | int:
    """`lengths` (*batch,), or T if None, as (*batch, 1, 1), for a table (*batch, T, ...)."""
    if lengths is None:
        return table.shape[len(batch)]
    lengths = shared_lengths(lengths, torch.Size(batch), 1)
    if lengths.shape != batch:
        raise ValueError(f"lengths: expected shape {batch}, got {tuple(lengths.shape)}")
    return lengths.to(table.device)[..., None, None]


def moves_into(
    what: str, table: Tensor, batch: tuple[int, ...], transition: Tensor | None
) -> Tensor:
    """(*batch, T, K, K): [t, k, j] scores state k at t after state j; zero at t = 0.

    Args:
        what: the name of the main table in error messages.
        table: the main table, (*batch, T, ..., K).
        batch: the batch shape.
        transition: [j, k] scores j to k: (K, K), or (*batch, T - 1, K, K); None: zeros.
    """
    steps, states = table.shape[len(batch)], table.shape[-1]
    first = table.new_zeros(*batch, 1, states, states)
    if transition is None:
        return first.expand(*batch, steps, -1, -1)
    each = (*batch, steps - 1, states, states)
    _check_shape("transition", transition, what, table, (states, states), each)
    return torch.cat([first, transition.transpose(-1, -2).expand(each)], -3)


def _check_shape(
    name: str, scores: Tensor, what: str, table: Tensor, *allowed: tuple[int, ...]
) -> None:
    if tuple(scores.shape) not in allowed:
        raise ValueError(
            f"{name}: expected {' or '.join(map(str, allowed))} for {what} of shape "
            f"{tuple(table.shape)}, got {tuple(scores.shape)}"
        )
