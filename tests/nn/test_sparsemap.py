"""The module calls the function with its options."""

import pickle

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import draw_scores

TREES = sp.DependencyTrees(projective=True)


def test_sparsemap_module() -> None:
    scores, lengths = draw_scores("normal", 2, (6, 7), seed=0), torch.tensor([6, 4])
    layer = sp.nn.SparseMAP(TREES, temperature=0.7, max_active=2)
    post = layer(scores, lengths)
    same = sp.sparsemap(scores, TREES, lengths=lengths, temperature=0.7, max_active=2)
    assert torch.equal(post.weights, same.weights)
    assert torch.equal(post.structures, same.structures)
    assert post.sizes.max() <= 2


def test_repr_says_the_options() -> None:
    assert repr(sp.nn.SparseMAP(TREES, max_active=3)) == (f"SparseMAP({TREES}, max_active=3)")


def test_options_are_those_of_the_estimator() -> None:
    layer = sp.nn.SparseMAP(TREES, max_active=3, solver="generic")
    assert layer.estimator == sp.SparseMAP(max_active=3, solver="generic")
    with pytest.raises(ValueError, match="max_active must be at least 1"):
        sp.nn.SparseMAP(TREES, max_active=0)


def test_it_can_be_pickled() -> None:
    layer = pickle.loads(pickle.dumps(sp.nn.SparseMAP(TREES)))
    assert layer.structure == TREES
