"""The modules call the functions with their options."""

import pickle

import torch

import spinney as sp
from spinney.testing import draw_scores

TREES = sp.DependencyTrees(projective=True)


def test_sparsemap_module() -> None:
    scores, lengths = draw_scores("normal", 2, (6, 7), seed=0), torch.tensor([6, 4])
    layer = sp.nn.SparseMAP(TREES, temperature=0.7, max_active=2)
    post = layer(scores, lengths)
    same = sp.sparsemap(scores, TREES, lengths=lengths, temperature=0.7, max_active=2)
    assert torch.equal(post.weights, same.weights)
    assert torch.equal(post.structures, same.structures)
    assert post.sizes.max() <= 2


def test_loss_module() -> None:
    scores = draw_scores("normal", 2, (4, 5), seed=0)
    gold = TREES.argmax(draw_scores("normal", 2, (4, 5), seed=1))
    loss = sp.nn.SparseMAPLoss(TREES, margin=1.0, reduction="none")(scores, gold)
    expected = sp.sparsemap_loss(scores, gold, TREES, margin=1.0, reduction="none")
    assert torch.equal(loss, expected)


def test_repr_says_the_options() -> None:
    assert repr(sp.nn.SparseMAP(TREES, max_active=3)) == (
        "SparseMAP(DependencyTrees(projective=True, single_root=False), "
        "temperature=1.0, tol=1e-09, max_active=3)"
    )
    assert "margin=0.5, reduction='sum'" in repr(
        sp.nn.SparseMAPLoss(TREES, margin=0.5, reduction="sum")
    )


def test_they_can_be_pickled() -> None:
    layer = pickle.loads(pickle.dumps(sp.nn.SparseMAP(TREES)))
    assert layer.structure == TREES
