"""The structured perceptron loss, in addition to the conformance kit."""

import torch

import sparsewood as sp
from sparsewood.testing import draw_scores

TREES = sp.DependencyTrees()


def test_no_loss_and_no_gradient_where_gold_is_best() -> None:
    scores = draw_scores("normal", 4, (3, 4), seed=0).requires_grad_()
    loss = sp.perceptron_loss(scores, TREES.argmax(scores), TREES)
    assert loss.item() == 0
    assert not torch.autograd.grad(loss, scores)[0].any()
