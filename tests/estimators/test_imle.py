"""Implicit maximum likelihood against Algorithm 1 over all structures."""

from typing import Any

import pytest
import torch

import sparsewood as sp
from sparsewood.estimators import _noise
from sparsewood.testing import EstimatorConformance, draw_scores
from tests.brute import SMALL, slope
from tests.seats import Seats


class TestIMLE(EstimatorConformance):
    estimator = sp.IMLE()
    exact = False


class TestOfAMatching(EstimatorConformance):
    estimator = sp.IMLE(noise="gumbel", samples=3)
    structure = sp.Matching()
    shape = (4, 3)
    lengths = torch.tensor([[4, 3], [2, 3], [3, 1]])
    exact = False


class TestOfAChain(EstimatorConformance):
    estimator = sp.IMLE(noise="normal", samples=2)
    structure = sp.LinearChain()
    shape = (4, 2, 3)
    exact = False


@pytest.mark.parametrize("noise", ["sum-of-gamma", "gumbel", "normal"])
@pytest.mark.parametrize("family", SMALL)
def test_the_gradient_is_that_of_the_algorithm(family: str, noise: str) -> None:
    small, tau, lambda_ = SMALL[family], 0.5, 2.0
    scores = small.scores(4, seed=0)
    losses = draw_scores("normal", 12, small.shape, seed=1)  # of each of three structures
    estimator = sp.IMLE(lambda_, tau, noise, 3)  # pyright: ignore[reportArgumentType]
    found = slope(estimator, small, scores, losses / 3, seed=5)

    theta, generator = scores.repeat_interleave(3, 0), torch.Generator().manual_seed(5)
    if noise == "sum-of-gamma":
        k = small.best(theta).flatten(1).sum(-1)
        e = _noise.sum_of_gamma(theta, k, generator, small.allowed(theta))
    else:
        e = getattr(_noise, noise)(theta, generator)
    wanted = torch.zeros_like(scores)
    for t in range(12):
        row = theta[t : t + 1] + tau * e[t : t + 1]
        step = lambda_ * torch.where(small.allowed(row), losses[t : t + 1], 0)
        wanted[t // 3] += ((small.best(row) - small.best(row - step)) / 3)[0]
    torch.testing.assert_close(found, wanted)
    assert found.any()


def test_structures_are_the_best_of_perturbed_scores() -> None:
    small = SMALL["trees"]
    scores = small.scores(2, seed=3)
    generator = torch.Generator().manual_seed(9)
    post = sp.IMLE(tau=2.0, noise="normal", samples=50)(
        scores, small.structure, generator=generator
    )
    theta = scores.repeat_interleave(50, 0)
    noise = _noise.normal(theta, generator.manual_seed(9))
    assert torch.equal(post.parts, small.best(theta + 2 * noise))
    assert post.sizes.tolist() == [50, 50]
    assert (post.weights == 1 / 50).all()
    same = sp.IMLE(tau=0.0)(scores, small.structure)
    assert torch.equal(same.structures, sp.map(scores, small.structure).structures)


def test_a_family_by_its_oracle_alone() -> None:
    scores = draw_scores("normal", 2, (4,), seed=0).requires_grad_()
    post = sp.IMLE(tau=0.0)(scores, Seats())
    g = torch.tensor([1.0, 0, 0, -1.0]) * 10
    (found,) = torch.autograd.grad((g * post.parts).sum(), scores)
    assert torch.equal(found, post.parts.detach() - torch.tensor([0.0, 0, 1, 1]))


def test_what_is_not_finite_is_passed_on() -> None:
    small = SMALL["trees"]
    scores, g = small.scores(3, seed=0), torch.zeros(6, 3, 4)
    g[3, 0, 0] = torch.inf
    found = slope(sp.IMLE(samples=2), small, scores, g, seed=0)
    assert found[1][small.allowed(scores)[1]].isnan().all()
    assert not found[[0, 2]].any()
    g[3, 0, 0], g[3, 0, 1] = 0.0, torch.nan  # an arc from a word to itself is not read
    assert not slope(sp.IMLE(samples=2), small, scores, g, seed=0).any()


def test_errors_name_the_instance() -> None:
    scores = torch.zeros(3, 2, 3)
    scores[1] = -torch.inf
    for estimator in (sp.IMLE(samples=4), sp.IMLE(noise="gumbel", samples=4)):
        with pytest.raises(ValueError, match="instance 1 has no structure left"):
            estimator(scores, sp.DependencyTrees())
        with pytest.raises(ValueError, match=r"instance \(1, 0\) has no structure left"):
            estimator(scores[:, None], sp.DependencyTrees())


def test_out_of_training_it_is_the_best_structure() -> None:
    assert sp.IMLE().at_test() == sp.MAP()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lambda_": 0}, "lambda_ must be positive and finite, got 0"),
        ({"tau": -1}, "tau must be at least 0"),
        ({"samples": 0}, "samples must be at least 1"),
        ({"noise": "pink"}, "noise: expected one of sum-of-gamma, gumbel, normal; got 'pink'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.IMLE(**options)
