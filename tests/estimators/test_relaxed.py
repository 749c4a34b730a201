"""Marginals of perturbed scores instead of structures."""

import pytest
import torch

import sparsewood as sp
from sparsewood.estimators import _noise
from sparsewood.testing import EstimatorConformance, draw_scores
from tests.brute import SMALL, slope

TREES = sp.DependencyTrees()


class TestRelaxed(EstimatorConformance):
    estimator = sp.Relaxed(temperature=0.7)


class TestWithoutNoise(EstimatorConformance):
    estimator = sp.Relaxed(gumbel=False)


class TestOfAChain(EstimatorConformance):
    estimator = sp.Relaxed()
    structure = sp.LinearChain()
    shape = (4, 2, 3)


@pytest.mark.parametrize("family", ["trees", "chain"])
def test_soft_parts_and_their_gradient(family: str) -> None:
    """The marginals, and their Jacobian by the covariance of parts, summed by enumeration."""
    small = SMALL[family]
    scores, g = small.scores(3, seed=0), draw_scores("normal", 3, small.shape, seed=1)
    found = slope(sp.Relaxed(0.5), small, scores, g, seed=4)
    noise = _noise.gumbel(scores, torch.Generator().manual_seed(4))
    theta = (torch.where(scores.isfinite(), scores, -1e4) + noise).flatten(1) / 0.5
    theta.requires_grad_()
    soft = (theta @ small.columns.T).softmax(-1) @ small.columns
    wanted = torch.autograd.grad((g.flatten(1) * soft).sum(), theta)[0] / 0.5
    torch.testing.assert_close(found.flatten(1), wanted)
    post = sp.Relaxed(0.5)(scores, small.structure, generator=torch.Generator().manual_seed(4))
    torch.testing.assert_close(post.parts.flatten(1), soft.detach())


def test_low_temperatures_give_the_best_of_perturbed_scores() -> None:
    scores = draw_scores("normal", 3, (4, 5), seed=0)
    post = sp.Relaxed(1e-3)(scores, TREES, generator=torch.Generator().manual_seed(0))
    noisy = scores + _noise.gumbel(scores, torch.Generator().manual_seed(0))
    assert torch.equal(post.mode, sp.map(noisy, TREES).structures)
    torch.testing.assert_close(post.parts, TREES.indicator(post.mode, (4, 5)))


def test_without_noise_it_is_the_gibbs_distribution() -> None:
    scores = draw_scores("normal", 2, (3, 4), seed=0)
    soft = sp.Relaxed(2.0, gumbel=False)(scores, TREES)
    assert torch.equal(soft.parts, sp.Gibbs(temperature=2.0)(scores, TREES).parts)


def test_out_of_training_it_is_the_best_structure() -> None:
    assert sp.Relaxed().at_test() == sp.MAP()


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Relaxed\(\) needs a sum over all structures"):
        sp.Relaxed()(torch.zeros(1, 3, 3), sp.Matching())
    with pytest.raises(ValueError, match="scores: expected a tensor of a floating dtype"):
        sp.Relaxed()(torch.zeros(1, 3, 4, dtype=torch.int64), TREES)
    with pytest.raises(ValueError, match="temperature must be positive"):
        sp.Relaxed(temperature=0.0)
    with pytest.raises(ValueError, match="gumbel: expected True or False, got 1"):
        sp.Relaxed(gumbel=1)  # pyright: ignore[reportArgumentType]
