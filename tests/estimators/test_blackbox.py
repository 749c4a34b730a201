"""Differences between two best structures, by enumeration."""

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import EstimatorConformance, draw_scores
from tests.brute import SMALL, slope


class TestBlackbox(EstimatorConformance):
    estimator = sp.Blackbox()
    exact = False


class TestOfAMatching(EstimatorConformance):
    estimator = sp.Blackbox(lambda_=20.0)
    structure = sp.Matching()
    shape = (4, 3)
    lengths = torch.tensor([[4, 3], [2, 3], [3, 1]])
    exact = False


@pytest.mark.parametrize("family", SMALL)
def test_the_gradient_is_that_of_the_algorithm(family: str) -> None:
    """As in the paper: a cost w, the solver argmin <w, y>, and -1/lambda [y(w) - y(w')]."""
    small, lambda_ = SMALL[family], 3.0
    scores, g = small.scores(5, seed=0), draw_scores("normal", 5, small.shape, seed=1)
    found = slope(sp.Blackbox(lambda_), small, scores, g, seed=0)

    cost = -scores
    moved = cost + lambda_ * torch.where(small.allowed(scores), g, 0)
    on_cost = -(small.best(-cost) - small.best(-moved)) / lambda_
    torch.testing.assert_close(found, -on_cost)
    assert found.any()


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="lambda_ must be positive and finite, got 0"):
        sp.Blackbox(0)
