"""The estimator SparseMAP equals the function with its options."""

from typing import Any

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import EstimatorConformance, draw_scores

TREES = sp.DependencyTrees()


class TestSparseMAP(EstimatorConformance):
    estimator = sp.SparseMAP()


class TestGeneric(EstimatorConformance):
    estimator = sp.SparseMAP(temperature=2.0, solver="generic")


def test_options_reach_the_solver() -> None:
    scores, lengths = draw_scores("normal", 2, (6, 7), seed=0), torch.tensor([6, 4])
    options: dict[str, Any] = {"temperature": 2.0, "max_active": 2, "max_iter": 9, "tol": 1e-6}
    post = sp.SparseMAP(**options)(scores, TREES, lengths)
    assert isinstance(post, sp.SparsePosterior)
    same = sp.sparsemap(scores, TREES, lengths=lengths, **options)
    assert torch.equal(post.weights, same.weights)
    assert torch.equal(post.status, same.status)
    with pytest.raises(sp.UnconvergedError, match="capped"):
        sp.SparseMAP(max_active=1, on_unconverged="raise")(scores, TREES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.0}, "temperature must be positive"),
        ({"tol": -1.0}, "tol must be at least 0"),
        ({"max_active": 0}, "max_active must be at least 1"),
        ({"max_iter": 2.5}, "max_iter must be a whole number"),
        ({"solver": "dense"}, 'solver must be "native", "generic" or None'),
        ({"on_unconverged": "ignore"}, 'on_unconverged must be "return", "warn" or "raise"'),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.SparseMAP(**options)
