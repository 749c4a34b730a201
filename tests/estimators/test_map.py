"""The MAP estimator."""

import torch

import sparsewood as sp
from sparsewood.testing import EstimatorConformance, draw_scores


class TestMAP(EstimatorConformance):
    estimator = sp.MAP()


class TestOfAMatching(EstimatorConformance):
    estimator = sp.MAP()
    structure = sp.Matching()
    shape = (4, 3)
    lengths = torch.tensor([[4, 3], [2, 3], [3, 1]])


def test_it_is_the_oracle() -> None:
    scores = draw_scores("normal", 3, (4, 5), seed=0)
    post = sp.MAP()(scores, sp.DependencyTrees())
    assert torch.equal(post.structures, sp.map(scores, sp.DependencyTrees()).structures)
    assert post.weights.tolist() == [1.0] * 3
