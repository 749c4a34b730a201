"""Marginals instead of structures."""

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import EstimatorConformance, draw_scores

TREES, LENGTHS = sp.DependencyTrees(), torch.tensor([4, 2])


class TestGibbs(EstimatorConformance):
    estimator = sp.Gibbs(temperature=2.0)


class TestOfAChain(EstimatorConformance):
    estimator = sp.Gibbs()
    structure = sp.LinearChain()
    shape = (4, 2, 3)


def test_it_is_the_distribution() -> None:
    scores = draw_scores("normal", 2, (4, 5), seed=0)
    post = sp.Gibbs(temperature=0.5)(scores, TREES, LENGTHS)
    dist = sp.marginals(scores, TREES, lengths=LENGTHS, temperature=0.5)
    assert torch.equal(post.marginals, dist.marginals)
    assert torch.equal(post.mode, dist.mode)
    assert torch.equal(post.entropy(), dist.entropy())


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="temperature must be positive"):
        sp.Gibbs(temperature=0.0)
