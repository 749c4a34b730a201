"""The structured perceptron, beside what the conformance kit asks of it for every family."""

import torch

import sparsewood as sp
from sparsewood.testing import draw_scores

TREES = sp.DependencyTrees()


def test_no_loss_and_no_gradient_where_gold_is_best() -> None:
    scores = draw_scores("normal", 4, (3, 4), seed=0).requires_grad_()
    loss = sp.perceptron_loss(scores, TREES.argmax(scores), TREES)
    assert loss.item() == 0
    assert not torch.autograd.grad(loss, scores)[0].any()


def test_it_is_the_hinge_without_a_margin() -> None:
    scores = draw_scores("normal", 4, (3, 4), seed=0)
    gold = TREES.argmax(-scores)
    expected = sp.hinge_loss(scores, gold, TREES, margin=0.0, reduction="none")
    assert torch.equal(sp.perceptron_loss(scores, gold, TREES, reduction="none"), expected)
