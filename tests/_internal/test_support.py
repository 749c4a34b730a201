"""Sums over supports stored flat."""

import torch

from sparsewood._internal.support import log_expectation


def test_an_entry_without_weight_may_be_far_above_the_others() -> None:
    """Structures of weight 0 are kept for their loss: see `ScoreFunction`."""
    log_values = torch.tensor([-200.0, -201.0, 0.0], requires_grad=True)
    weights = torch.tensor([0.5, 0.5, 0.0], requires_grad=True)
    found = log_expectation(log_values, weights, torch.zeros(3, dtype=torch.int64), torch.Size([1]))
    wanted = (torch.tensor([-200.0, -201.0]) + torch.tensor(0.5).log()).logsumexp(0)
    torch.testing.assert_close(found[0].detach(), wanted)
    for slope in torch.autograd.grad(found.sum(), (log_values, weights)):
        assert slope.isfinite().all()
