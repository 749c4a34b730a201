"""What decays, and by how much."""

import torch
from torch import nn

from sparsewood.lab.run.config import TrainingConfig
from sparsewood.lab.run.optimizer import make_optimizer


def stepped(**options: float) -> tuple[float, float]:
    """Two weights of 1 after a step without a gradient: one trained at `lr`, one at another."""
    ordinary, apart = nn.Parameter(torch.ones(())), nn.Parameter(torch.ones(()))
    optimizer = make_optimizer([[ordinary], [apart]], TrainingConfig(lr=0.5, **options))
    for parameter in (ordinary, apart):
        parameter.grad = torch.zeros(())
    optimizer.step()
    return ordinary.item(), apart.item()


def test_weights_decay_by_rate_times_decay_and_only_at_the_rate_lr():
    assert stepped(weight_decay=0.1) == (0.95, 1.0)


def test_nothing_decays_by_default():
    assert stepped() == (1.0, 1.0)
