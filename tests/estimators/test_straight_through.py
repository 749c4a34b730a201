"""Straight-through gradients, against a second implementation."""

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import EstimatorConformance, draw_scores
from tests.seats import Seats

TREES = sp.DependencyTrees()


class TestIdentity(EstimatorConformance):
    estimator = sp.StraightThrough()
    exact = False


class TestMarginals(EstimatorConformance):
    estimator = sp.StraightThrough("marginals")
    exact = False


class TestOfAMatching(EstimatorConformance):
    estimator = sp.StraightThrough()
    structure = sp.Matching()
    shape = (4, 3)
    lengths = torch.tensor([[4, 3], [2, 3], [3, 1]])
    exact = False


def slope_of(estimator: sp.Estimator, scores: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    post = estimator(scores, TREES)
    return torch.autograd.grad((g * post.parts).sum(), scores)[0]


def test_the_gradient_is_passed_on_as_it_is() -> None:
    scores = draw_scores("normal", 2, (3, 4), seed=0)
    scores[0, 0, 2] = -torch.inf
    g = draw_scores("normal", 2, (3, 4), seed=1)
    read = TREES.reads(scores) & scores.isfinite()
    found = slope_of(sp.StraightThrough(), scores.requires_grad_(), g)
    assert torch.equal(found, torch.where(read, g, 0))


def test_the_gradient_is_that_of_the_marginals() -> None:
    """J^T g by the covariance of the parts under the Gibbs distribution, by enumeration."""
    scores = draw_scores("normal", 2, (3, 4), seed=2)
    g = draw_scores("normal", 2, (3, 4), seed=3)
    parts = TREES.indicator(TREES.enumerate(3)).flatten(1)
    p = (scores.flatten(1) @ parts.T).softmax(-1)
    mean = p @ parts
    centred = parts - mean[:, None]
    wanted = ((p * (centred @ g.flatten(1)[..., None]).squeeze(-1))[..., None] * centred).sum(1)
    found = slope_of(sp.StraightThrough("marginals"), scores.requires_grad_(), g)
    torch.testing.assert_close(found.flatten(1), wanted)


def test_a_family_without_sums() -> None:
    scores = torch.zeros(1, 3, 3)
    with pytest.raises(TypeError, match=r"needs a sum over all structures.*Matching"):
        sp.StraightThrough("marginals")(scores, sp.Matching())
    with pytest.raises(TypeError, match=r"Gibbs\(\) needs a sum over all structures"):
        sp.Gibbs()(scores, Seats())
    with pytest.raises(TypeError, match=r"TopK\(k=2\) needs the k best structures"):
        sp.TopK(2)(scores, Seats())


def test_without_a_gradient_the_parts_carry_none() -> None:
    scores = draw_scores("normal", 1, (3, 4), seed=4)
    assert not sp.StraightThrough()(scores, TREES).carries_parts
    with torch.no_grad():
        assert not sp.StraightThrough()(scores.requires_grad_(), TREES).carries_parts


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="backward: expected one of identity, marginals; got 'no'"):
        sp.StraightThrough("no")  # pyright: ignore[reportArgumentType]
