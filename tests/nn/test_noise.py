"""Gumbel noise: its distribution, and that it is only added in training."""

import math

import pytest
import torch

import sparsewood as sp


def test_evaluation_and_no_scale_leave_scores_and_generator_alone() -> None:
    scores, before = torch.randn(2, 3, 4), torch.get_rng_state()
    assert sp.nn.GumbelNoise(2.0).eval()(scores) is scores
    assert sp.nn.GumbelNoise(0.0)(scores) is scores
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_the_law_of_the_noise(scale: float) -> None:
    torch.manual_seed(0)
    g = sp.nn.GumbelNoise(scale)(torch.zeros(200_000, dtype=torch.float64)) / scale
    for x in (-1.0, 0.0, 1.0, 3.0):
        p = math.exp(-math.exp(-x))
        error = float((g <= x).double().mean()) - p
        assert abs(error) < 4 * math.sqrt(p * (1 - p) / len(g))


def test_the_mode_of_noisy_scores_is_a_sample_of_their_softmax() -> None:
    torch.manual_seed(0)
    scores = torch.tensor([0.0, 1.0, -1.0, 0.5])
    drawn = sp.nn.GumbelNoise()(scores.expand(100_000, 4)).argmax(-1).bincount(minlength=4)
    torch.testing.assert_close(drawn / 100_000, scores.softmax(0), atol=0.007, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_dtype_and_forbidden_parts_stay(dtype: torch.dtype) -> None:
    scores = torch.zeros(100_000, dtype=dtype)
    scores[::2] = -torch.inf
    noisy = sp.nn.GumbelNoise(1.0)(scores)
    assert noisy.dtype == dtype
    assert (noisy[::2] == -torch.inf).all()
    assert noisy[1::2].isfinite().all()
    assert not scores[1::2].any()


def test_the_global_generator_draws_it_and_the_gradient_passes() -> None:
    scores, noise = torch.zeros(5, 6, requires_grad=True), sp.nn.GumbelNoise(3.0)
    first, second = (torch.manual_seed(1) and noise(scores) for _ in range(2))
    assert torch.equal(first, second)
    (gradient,) = torch.autograd.grad(first.sum(), scores)
    assert (gradient == 1).all()


def test_options() -> None:
    assert repr(sp.nn.GumbelNoise(0.5)) == "GumbelNoise(0.5)"
    with pytest.raises(ValueError, match="scale must be at least 0 and finite, got -1"):
        sp.nn.GumbelNoise(-1)
