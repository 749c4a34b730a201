"""Baselines that reduce the variance of score-function estimators."""

from typing import cast

import torch
from torch import Tensor, nn


def mean_of_others(losses: Tensor, drawn: Tensor | None = None) -> Tensor:
    """The mean loss of the other samples of an instance: (B, K) -> (B, K); 0 if there are none.

    `drawn` (B, K) bool selects the entries that are samples; None: all. Others count as 0.
    """
    counted = torch.ones_like(losses) if drawn is None else drawn.to(losses.dtype)
    counted_losses = losses * counted
    rest = counted_losses.sum(-1, keepdim=True) - counted_losses
    others = counted.sum(-1, keepdim=True) - counted
    return counted * rest / others.clamp(min=1)


class MovingMean(nn.Module):
    """The mean of all previous losses, weighted by `decay` per step:

        mean = sum_t decay^(T - t) mean_t / sum_t decay^(T - t)

    with the mean loss `mean_t` of step t of `T`; 0 before the first step. Kept in buffers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(()))
        self.register_buffer("weight", torch.zeros(()))

    def mean(self) -> Tensor:
        """()"""
        total, weight = self._values()
        return total / torch.where(weight > 0, weight, 1)

    def update(self, losses: Tensor, decay: float) -> None:
        """Add the losses of a step, of any shape. Losses that overflowed are ignored."""
        total, weight = self._values()
        seen = losses.double().mean().to(total.device)
        kept = seen.isfinite()  # scaled losses of mixed precision may overflow; no losses give NaN
        new = decay * total + (1 - decay) * seen, decay * weight + (1 - decay)
        for buffer, value, old in zip(self.buffers(), new, (total, weight), strict=True):
            buffer.copy_(torch.where(kept, value, old))

    def _values(self) -> tuple[Tensor, Tensor]:
        return cast(Tensor, self.total).double(), cast(Tensor, self.weight).double()
