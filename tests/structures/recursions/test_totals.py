"""Sums over alternatives."""

import torch

from sparsewood.structures.recursions import FORBIDDEN, SampledTotal, logsumexp
from sparsewood.structures.recursions.totals import is_empty, pick, sample_one


def test_sums_over_nothing_stay_finite() -> None:
    x = torch.tensor([[FORBIDDEN, FORBIDDEN], [FORBIDDEN, 1.0]], dtype=torch.float64)
    x.requires_grad_()
    value = logsumexp(x, -1)
    (first,) = torch.autograd.grad(value.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), x)
    assert first.isfinite().all()
    assert second.isfinite().all()
    assert first[1].tolist() == [0.0, 1.0]
    assert is_empty(value).tolist() == [True, False]


def test_the_gradient_of_a_sample_is_one_alternative() -> None:
    x = torch.tensor([0.0, 1.0, FORBIDDEN], dtype=torch.float64).repeat(5000, 1).requires_grad_()
    value = SampledTotal(torch.Generator().manual_seed(0))(x, -1)
    torch.testing.assert_close(value, x.logsumexp(-1))
    (drawn,) = torch.autograd.grad(value.sum(), x)
    assert (drawn.sum(-1) == 1).all()
    assert ((drawn == 0) | (drawn == 1)).all()
    torch.testing.assert_close(drawn.mean(0), x[0].softmax(-1).detach(), rtol=0, atol=0.03)


def test_one_and_pick() -> None:
    x = torch.zeros(2, 3, 4)
    one = sample_one(x, 1, torch.Generator().manual_seed(0))
    assert one.shape == x.shape
    assert (one.sum(1) == 1).all()
    table = torch.arange(24).view(2, 3, 4)
    assert torch.equal(pick(table, torch.tensor([2, 0])), torch.stack([table[0, 2], table[1, 0]]))


def test_what_is_impossible_is_never_drawn() -> None:
    scores = torch.tensor([FORBIDDEN, 0.0, FORBIDDEN, -40.0, FORBIDDEN], dtype=torch.float64)
    drawn = sample_one(scores.repeat(100_000, 1), -1, torch.Generator().manual_seed(0)).mean(0)
    assert drawn[[0, 2, 4]].tolist() == [0.0] * 3
    assert drawn[1] > 0.999


def test_the_shares_of_large_scores_sum_to_one() -> None:
    x = torch.full((2, 3), 1e74, dtype=torch.float64).requires_grad_()
    (share,) = torch.autograd.grad(logsumexp(x, -1).sum(), x)
    torch.testing.assert_close(share, torch.full_like(x, 1 / 3))
