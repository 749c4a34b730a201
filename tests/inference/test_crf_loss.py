"""The negative log-likelihood, in addition to the conformance kit."""

import pytest
import torch

import sparsewood as sp


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


def test_no_sum_over_matchings() -> None:
    with pytest.raises(ValueError, match="#P-hard"):
        sp.crf_loss(torch.zeros(1, 2, 2), torch.tensor([[0, 1]]), sp.Matching())
