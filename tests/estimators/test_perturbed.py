"""The perturbed optimizer: its formula over all structures, and unbiased cases."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.estimators import _noise
from sparsewood.testing import EstimatorConformance, draw_scores
from tests.brute import SMALL, slope


class TestPerturbed(EstimatorConformance):
    estimator = sp.Perturbed(samples=4)
    exact = False


class TestOfAMatching(EstimatorConformance):
    estimator = sp.Perturbed(samples=1, sigma=0.5, noise="gumbel")
    structure = sp.Matching()
    shape = (4, 3)
    lengths = torch.tensor([[4, 3], [2, 3], [3, 1]])
    exact = False


@pytest.mark.parametrize("samples", [1, 2, 5])
@pytest.mark.parametrize("noise", ["normal", "gumbel"])
@pytest.mark.parametrize("family", SMALL)
def test_the_gradient_is_the_formula(family: str, noise: str, samples: int) -> None:
    small, sigma, count = SMALL[family], 0.7, 3
    scores = small.scores(count, seed=0)
    g = draw_scores("normal", count * samples, small.shape, seed=1)
    estimator = sp.Perturbed(samples, sigma, noise)  # pyright: ignore[reportArgumentType]
    found = slope(estimator, small, scores, g, seed=5)

    theta = scores.repeat_interleave(samples, 0)
    z = getattr(_noise, noise)(theta, torch.Generator().manual_seed(5))
    allowed = small.allowed(scores)
    wanted = torch.zeros_like(scores)
    for b in range(count):
        mine = slice(b * samples, (b + 1) * samples)
        parts = small.best(theta[mine] + sigma * z[mine])
        whole = g[mine].sum(0)
        value = [float((whole * one)[allowed[b]].sum()) for one in parts]
        for k in range(samples):
            others = [value[j] for j in range(samples) if j != k]
            baseline = sum(others) / len(others) if others else 0.0
            direction = z[mine][k] if noise == "normal" else 1 - (-z[mine][k]).exp()
            wanted[b] += (value[k] - baseline) * direction / (samples * sigma)
    torch.testing.assert_close(found, torch.where(allowed, wanted, 0))


def check_no_bias(estimator: sp.Estimator, scores: Tensor, g: Tensor, wanted: Tensor) -> None:
    """The gradient of <g, E m(h)> over many equal instances, per part within 4.5 errors."""
    count = 20_000
    leaf = scores.expand(count, -1).clone().requires_grad_()
    generator = torch.Generator().manual_seed(11)
    post = estimator(leaf, sp.Simplex(), generator=generator)
    (found,) = torch.autograd.grad((g * post.marginals).sum(), leaf)
    error = found.std(0) / math.sqrt(count)
    assert ((found.mean(0) - wanted).abs() < 4.5 * error).all()
    assert (error < 0.1 * wanted.abs().max()).all()  # else the test has no power


@pytest.mark.parametrize("samples", [1, 3])
def test_no_bias_with_gumbel_noise(samples: int) -> None:
    """The mean parts of a choice are then a softmax, whose Jacobian is known."""
    scores, sigma = torch.tensor([0.5, -0.3, 0.1]).double(), 0.8
    g = torch.tensor([1.0, 0.2, -1.5]).double()
    p = (scores / sigma).softmax(-1)
    wanted = p * (g - p @ g) / sigma
    check_no_bias(sp.Perturbed(samples, sigma, "gumbel"), scores, g, wanted)


@pytest.mark.parametrize("samples", [1, 4])
def test_no_bias_with_normal_noise(samples: int) -> None:
    """Of two, the first is chosen with probability Phi((a - b) / (sigma sqrt 2))."""
    scores, sigma = torch.tensor([0.4, -0.2]).double(), 0.5
    g = torch.tensor([1.0, -0.5]).double()
    width = sigma * math.sqrt(2)
    density = math.exp(-((0.6 / width) ** 2) / 2) / (math.sqrt(2 * math.pi) * width)
    wanted = density * (g[0] - g[1]) * torch.tensor([1.0, -1.0]).double()
    check_no_bias(sp.Perturbed(samples, sigma), scores, g, wanted)


def test_out_of_training_it_is_the_best_structure() -> None:
    assert sp.Perturbed().at_test() == sp.MAP()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0}, "samples must be at least 1"),
        ({"sigma": 0.0}, "sigma must be positive and finite, got 0"),
        ({"noise": "pink"}, "noise: expected one of normal, gumbel; got 'pink'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.Perturbed(**options)
