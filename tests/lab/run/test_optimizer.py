"""What decays, and by how much."""

import pytest
import torch
from torch import nn

from sparsewood.lab.run.config import TrainingConfig
from sparsewood.lab.run.optimizer import make_optimizer


def stepped(weight_decay: float) -> tuple[float, float]:
    """Two weights of 1 after a step without a gradient: one trained at `lr`, one at another."""
    ordinary, apart = nn.Parameter(torch.ones(())), nn.Parameter(torch.ones(()))
    optimizer = make_optimizer(
        [[ordinary], [apart]], TrainingConfig(lr=0.5, weight_decay=weight_decay)
    )
    for parameter in (ordinary, apart):
        parameter.grad = torch.zeros(())
    optimizer.step()
    return ordinary.item(), apart.item()


def test_weights_decay_by_rate_times_decay_and_only_at_the_rate_lr():
    assert stepped(0.1) == (pytest.approx(0.95), 1.0)


def test_nothing_decays_without_weight_decay():
    assert stepped(0.0) == (1.0, 1.0)
