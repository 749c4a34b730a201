"""The tables that go with the main one of a chain or a segmentation: start, end, transitions."""

import torch
from torch import Tensor


def check_ends(what: str, table: Tensor, start: Tensor | None, end: Tensor | None) -> None:
    """ValueError unless each is None, (K,) or (B, K), for the main table (B, ..., K), `what`."""
    batch, states = table.shape[0], table.shape[-1]
    for name, scores in (("start", start), ("end", end)):
        if scores is not None:
            _check_shape(name, scores, what, table, (states,), (batch, states))


def moves_into(what: str, table: Tensor, transition: Tensor | None) -> Tensor:
    """(B, T, K, K): at [t, k, j] the score of state k at t after state j; zero at t = 0.

    Args:
        what: what the main table is called in messages.
        table: the main table, (B, T, ..., K).
        transition: from j to k as [j, k]: (K, K), or (B, T - 1, K, K); None: zeros.
    """
    batch, steps, states = table.shape[0], table.shape[1], table.shape[-1]
    first = table.new_zeros(batch, 1, states, states)
    if transition is None:
        return first.expand(-1, steps, -1, -1)
    each = (batch, steps - 1, states, states)
    _check_shape("transition", transition, what, table, (states, states), each)
    return torch.cat([first, transition.transpose(-1, -2).expand(each)], 1)


def _check_shape(
    name: str, scores: Tensor, what: str, table: Tensor, *allowed: tuple[int, ...]
) -> None:
    if tuple(scores.shape) not in allowed:
        raise ValueError(
            f"{name}: expected {' or '.join(map(str, allowed))} for {what} of shape "
            f"{tuple(table.shape)}, got {tuple(scores.shape)}"
        )
