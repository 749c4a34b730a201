"""The loss of a mixture at the edges of what floats hold."""

import torch

from sparsewood import DependencyTrees, sparsemap
from sparsewood.lab.tasks.mixture import mixture_loss


def test_a_tiny_probability_keeps_its_loss_and_gradient():
    scores = torch.zeros(2, 2, 3, requires_grad=True)
    posterior = sparsemap(scores, DependencyTrees())
    log_p = torch.full((len(posterior.weights), 2), -1000.0).requires_grad_()
    p, loss = mixture_loss(log_p, posterior, torch.tensor([0, 1]), "marginal")
    assert p.max() == 0  # it underflows
    assert loss is not None
    torch.testing.assert_close(loss, torch.full((2,), 1000.0))
    loss.sum().backward()
    assert log_p.grad is not None
    torch.testing.assert_close(log_p.grad.sum(1), -posterior.weights.detach())


def test_a_broken_probability_shows_in_the_loss():
    posterior = sparsemap(torch.zeros(1, 2, 3), DependencyTrees())
    log_p = torch.full((len(posterior.weights), 2), torch.nan)
    _, loss = mixture_loss(log_p, posterior, torch.tensor([0]), "marginal")
    assert loss is not None
    assert loss.isnan().all()
