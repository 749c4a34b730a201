"""The k best structures against enumeration."""

from typing import Any

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import EstimatorConformance, draw_scores, project

TREES = sp.DependencyTrees()


class TestTopK(EstimatorConformance):
    estimator = sp.TopK(3)


class TestSparse(EstimatorConformance):
    estimator = sp.TopK(5, weights="sparsemax", temperature=2.0)


def totals(scores: torch.Tensor) -> torch.Tensor:
    """The scores (B, 16) of all trees over three words."""
    parts = TREES.indicator(TREES.enumerate(3))
    return (scores[:, None] * parts).flatten(2).sum(-1)


def test_all_structures_are_the_gibbs_distribution() -> None:
    scores = draw_scores("normal", 2, (3, 4), seed=0)
    post = sp.TopK(100, temperature=0.5)(scores, TREES)
    assert post.sizes.tolist() == [16, 16]
    torch.testing.assert_close(
        post.marginals, sp.marginals(scores, TREES, temperature=0.5).marginals
    )


def test_weights_by_hand() -> None:
    scores = draw_scores("normal", 2, (3, 4), seed=1)
    best = totals(scores).topk(4).values
    soft = sp.TopK(4)(scores, TREES)
    torch.testing.assert_close(soft.weights.reshape(2, 4), best.softmax(-1))
    sparse = sp.TopK(4, weights="sparsemax", temperature=2.0)(scores, TREES)
    expected = torch.stack([project(row / 2, torch.eye(4).double()) for row in best])
    torch.testing.assert_close(sparse.weights, expected[expected > 0])
    assert torch.equal(sparse.sizes, (expected > 0).sum(-1))
    assert torch.equal(sparse.structures, soft.structures[expected.flatten() > 0])


def test_scores_that_only_the_temperature_brings_down() -> None:
    scores = 1e190 * draw_scores("normal", 2, (3, 4), seed=2)
    for weights in ("softmax", "sparsemax"):
        cold = sp.TopK(2, weights=weights, temperature=1e-200)(scores, TREES)
        assert cold.weights.tolist() == [1.0, 1.0]


def test_twice_differentiable() -> None:
    scores = draw_scores("normal", 1, (3, 4), seed=3).requires_grad_()
    for weights in ("softmax", "sparsemax"):
        best = sp.TopK(3, weights=weights)
        assert torch.autograd.gradgradcheck(lambda x, e=best: e(x, TREES).marginals, (scores,))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"k": 2, "weights": "max"}, 'weights must be "softmax" or "sparsemax"'),
        ({"k": 2, "temperature": -1.0}, "temperature must be positive"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.TopK(**options)
