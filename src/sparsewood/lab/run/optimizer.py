"""The optimizer of a run: parameters by learning rate, and the moving average of weights."""

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from sparsewood.lab.run.config import TrainingConfig
from sparsewood.lab.tasks.task import Model


def by_rate(
    learned: list[nn.Parameter], *apart: tuple[list[nn.Parameter], float | None], lr: float
) -> tuple[list[list[nn.Parameter]], list[float]]:
    """The parameters by learning rate, and the ratio of each rate to `lr`.

    Args:
        learned: all parameters.
        apart: parameters with their own rate, unless it is None; the last group that has a
            parameter counts.
        lr: learning rate of the others.
    """
    groups, shares = [learned], [1.0]
    for own, rate in apart:
        if rate is not None and own:
            taken = set(own)
            groups = [*([p for p in group if p not in taken] for group in groups), own]
            shares.append(rate / lr)
    return groups, shares


def make_optimizer(
    groups: list[list[nn.Parameter]], config: TrainingConfig
) -> torch.optim.Optimizer:
    # Only the parameters at the rate `lr`, the first group, decay.
    decays = [config.weight_decay, *(0.0 for _ in groups[1:])]
    options: list[dict[str, Any]] = [
        {"params": parameters, "weight_decay": decay}
        for parameters, decay in zip(groups, decays, strict=True)
    ]
    # On a GPU, one fused kernel updates all weights and detects overflow of gradients.
    fused = all(p.is_cuda for parameters in groups for p in parameters) or None
    if config.optimizer == "sgd":
        return torch.optim.SGD(options, config.lr, fused=fused)
    adam = torch.optim.AdamW if config.weight_decay else torch.optim.Adam
    return adam(options, config.lr, betas=(0.9, config.beta2), fused=fused)


class Average:
    """The moving average of the weights of a model, started after its first step.

    After t updates it keeps the share min(decay, (1 + t) / (10 + t)): the first steps, in which
    weights change most, are soon forgotten.

    Attributes:
        model: has the averaged weights.
        updates: how many there were.
    """

    def __init__(self, model: Model, decay: float) -> None:
        self.model, self.updates = deepcopy(model), 0
        self._decay = decay
        for module in self.model.modules():  # on a GPU, copied weights are not contiguous
            if isinstance(module, nn.RNNBase):
                module.flatten_parameters()

    @torch.no_grad()
    def update(self, model: Model) -> None:
        """Add the weights after a step."""
        mine: list[Tensor] = list(self.model.parameters())
        others: list[Tensor] = list(model.parameters())
        if self.updates == 0:
            for average, other in zip(mine, others, strict=True):
                average.copy_(other)
        else:
            t = self.updates
            get_ema_multi_avg_fn(min(self._decay, (1 + t) / (10 + t)))(mine, others, None)
        for average, other in zip(self.model.buffers(), model.buffers(), strict=True):
            average.copy_(other)
        self.updates += 1
