"""The three surrogate gradients of SPIGOT, by projections and sums over all structures."""

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import EstimatorConformance, draw_scores, project
from tests.brute import SMALL, Small, slope
from tests.seats import Seats


class TestProjection(EstimatorConformance):
    estimator = sp.Spigot()
    exact = False


class TestCrossEntropy(EstimatorConformance):
    estimator = sp.Spigot(eta=0.5, backward="ce")
    exact = False


class TestExponentiatedGradient(EstimatorConformance):
    estimator = sp.Spigot(eta=2.0, backward="eg")
    exact = False


class TestOfAMatching(EstimatorConformance):
    estimator = sp.Spigot(eta=0.5)
    structure = sp.Matching()
    shape = (4, 3)
    lengths = torch.tensor([[4, 3], [2, 3], [3, 1]])
    exact = False


class TestOfAChain(EstimatorConformance):
    estimator = sp.Spigot(backward="ce")
    structure = sp.LinearChain()
    shape = (4, 2, 3)
    exact = False


def nearest(points: Tensor, scores: Tensor, small: Small) -> Tensor:
    found = []
    for point, row in zip(points.flatten(1), scores.flatten(1), strict=True):
        forbidden = row == -torch.inf
        found.append(project(point, small.columns[(small.columns[:, forbidden] == 0).all(-1)]))
    return torch.stack(found).view(points.shape)


@pytest.mark.parametrize("family", SMALL)
def test_the_gradient_is_by_a_projection(family: str) -> None:
    small = SMALL[family]
    scores, g = small.scores(4, seed=0), draw_scores("normal", 4, small.shape, seed=1)
    found = slope(sp.Spigot(eta=0.7), small, scores, g, seed=0)
    allowed = small.allowed(scores)
    best = small.best(scores)
    wanted = best - nearest(best - 0.7 * torch.where(allowed, g, 0), scores, small)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-7)
    assert found.any()
    assert not found[~allowed].any()


@pytest.mark.parametrize("family", ["trees", "chain"])
def test_the_gradients_from_the_marginals(family: str) -> None:
    small = SMALL[family]
    scores, g = small.scores(4, seed=2), draw_scores("normal", 4, small.shape, seed=3)
    soft = small.soft(scores)
    step = 0.3 * torch.where(small.allowed(scores), g, 0)
    for estimator, wanted in (
        (sp.Spigot(0.3, "ce"), soft - nearest(soft - step, scores, small)),
        (sp.Spigot(0.3, "eg"), soft - small.soft(scores - step)),
    ):
        found = slope(estimator, small, scores, g, seed=0)
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-7)


@pytest.mark.parametrize("backward", ["projection", "ce", "eg"])
def test_no_gradient_gives_none(backward: str) -> None:
    """SparseMAP over chains does not penalise transitions, but the projection does."""
    small = SMALL["chain"]
    estimator = sp.Spigot(backward=backward)  # pyright: ignore[reportArgumentType]
    found = slope(estimator, small, small.scores(4, 0), torch.zeros(4, *small.shape), seed=0)
    torch.testing.assert_close(found, torch.zeros_like(found), rtol=0, atol=1e-8)


def test_a_family_by_its_oracle_alone() -> None:
    scores = draw_scores("normal", 2, (4,), seed=0).requires_grad_()
    g = draw_scores("normal", 2, (4,), seed=1)
    post = sp.Spigot()(scores, Seats())
    (found,) = torch.autograd.grad((g * post.parts).sum(), scores)
    pairs = torch.tensor([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]).double()
    here = post.parts.detach()
    wanted = here - torch.stack([project(point, pairs) for point in here - g])
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-7)
    with pytest.raises(TypeError, match=r"Spigot\(backward='eg'\) needs a sum over all structures"):
        sp.Spigot(backward="eg")(scores, Seats())


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="eta must be positive and finite, got 0"):
        sp.Spigot(eta=0)
    with pytest.raises(ValueError, match="backward: expected one of projection, ce, eg; got 'no'"):
        sp.Spigot(backward="no")  # pyright: ignore[reportArgumentType]
