"""The negative log-likelihood, against a sum over all structures."""

import math
from types import SimpleNamespace

import pytest
import torch

import sparsewood as sp


def test_equals_the_sum_over_all_structures(summed: SimpleNamespace) -> None:
    scores, gold = summed.draw(4, seed=0), summed.gold(4, seed=1)
    of_gold = torch.where(summed.indicator(gold).bool(), scores, 0).flatten(1).sum(-1)
    expected = summed.totals(scores).logsumexp(-1) - of_gold
    found = sp.crf_loss(scores, gold, summed.structure, reduction="none")
    torch.testing.assert_close(found, expected)


def test_gradient_is_marginals_minus_gold(summed: SimpleNamespace) -> None:
    scores, gold = summed.draw(4, seed=2).requires_grad_(), summed.gold(4, seed=3)
    loss = sp.crf_loss(scores, gold, summed.structure, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, scores)
    p = summed.totals(scores.detach()).softmax(-1)
    marginals = torch.einsum("bc,c...->b...", p, summed.columns)
    torch.testing.assert_close(gradient, marginals - summed.indicator(gold))


def test_derivatives(summed: SimpleNamespace) -> None:
    scores, gold = summed.draw(2, seed=4).nan_to_num(0.0).requires_grad_(), summed.gold(2, seed=5)

    def loss(scores: torch.Tensor) -> torch.Tensor:
        return sp.crf_loss(scores, gold, summed.structure, reduction="none")

    assert torch.autograd.gradcheck(loss, scores)
    assert torch.autograd.gradgradcheck(loss, scores, fast_mode=True)


def test_long_sentences_stay_finite() -> None:
    trees = sp.DependencyTrees(single_root=True)
    scores = 20 * torch.randn(2, 160, 161, generator=torch.Generator().manual_seed(0))
    gold = torch.stack([torch.arange(160), trees.argmax(scores)[1]])
    scores.requires_grad_()
    loss = sp.crf_loss(scores, gold, trees, reduction="none")
    (gradient,) = torch.autograd.grad(loss.sum(), scores)
    assert loss.isfinite().all()
    assert (loss >= 0).all()
    assert gradient.isfinite().all()
    torch.testing.assert_close(gradient.sum(-1), torch.zeros(2, 160), atol=1e-4, rtol=0)


def test_large_scores_in_common_take_no_digits() -> None:
    scores = torch.full((2, 3, 4), 1e12, dtype=torch.float64)
    loss = sp.crf_loss(scores, torch.tensor([[0, 1, 2], [0, 0, 0]]), sp.DependencyTrees())
    assert loss.item() == pytest.approx(math.log(16), rel=1e-13)


def test_no_sum_over_matchings() -> None:
    with pytest.raises(ValueError, match="#P-hard"):
        sp.crf_loss(torch.zeros(1, 2, 2), torch.tensor([[0, 1]]), sp.Matching())
