"""The adaptive step of implicit maximum likelihood, against a second implementation."""

import copy
import pickle
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import sparsewood as sp
from sparsewood.estimators import _noise
from sparsewood.testing import EstimatorConformance, draw_scores
from tests.brute import SMALL, slope


class TestAIMLE(EstimatorConformance):
    estimator = sp.AIMLE()
    exact = False


class TestSymmetric(EstimatorConformance):
    estimator = sp.AIMLE(noise="gumbel", samples=3, symmetric=True)
    structure = sp.Matching()
    shape = (4, 3)
    lengths = torch.tensor([[4, 3], [2, 3], [3, 1]])
    exact = False


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("family", SMALL)
def test_gradients_and_steps(family: str, symmetric: bool) -> None:
    small, tau, target, change = SMALL[family], 0.5, 2.0, 0.3
    estimator = sp.AIMLE(
        0.4, target, change, 0.8, tau=tau, noise="normal", samples=3, symmetric=symmetric
    )
    alpha, mean = 0.4, 1.0
    for turn in range(4):
        scores = small.scores(2, seed=turn)
        losses = draw_scores("normal", 6, small.shape, seed=10 + turn)
        found = slope(estimator, small, scores, losses / 3, seed=5)

        theta = scores.repeat_interleave(3, 0)
        e = _noise.normal(theta, torch.Generator().manual_seed(5))
        wanted, nonzeros = torch.zeros_like(scores), 0
        for t in range(6):
            allowed = small.allowed(theta[t : t + 1])
            g = torch.where(allowed, losses[t : t + 1], 0)
            lambda_ = alpha * theta[t : t + 1][allowed].norm() / g.norm()
            row = theta[t : t + 1] + tau * e[t : t + 1]
            ahead = (row + lambda_ * g, 2) if symmetric else (row, 1)
            difference = (small.best(ahead[0]) - small.best(row - lambda_ * g)) / ahead[1]
            wanted[t // 3] += (difference / lambda_ / 3)[0] if alpha else 0
            nonzeros += int((difference != 0).sum())
        torch.testing.assert_close(found, wanted)
        mean = 0.8 * mean + 0.2 * nonzeros / 6
        alpha = max(0.0, alpha + (change if mean < target else -change))
        assert float(estimator.memory.nonzeros) == pytest.approx(mean)
        assert estimator.alpha + float(estimator.memory.moved) == pytest.approx(alpha)


def learnt() -> sp.AIMLE:
    estimator, small = sp.AIMLE(step=0.25), SMALL["trees"]
    g = draw_scores("normal", 2, small.shape, seed=1)
    slope(estimator, small, small.scores(2, seed=0), g, seed=0)
    assert abs(float(estimator.memory.moved)) == 0.25
    return estimator


def test_what_was_learnt_is_kept_but_is_no_option() -> None:
    one = learnt()
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other == one
        assert hash(other) == hash(one)
        assert torch.equal(other.memory.moved, one.memory.moved)
        assert other.memory is not one.memory
    assert replace(one, tau=0.5).memory is one.memory
    fresh = sp.AIMLE(step=0.25)
    assert fresh == one
    assert fresh.memory.moved == 0
    assert repr(one) == "AIMLE(step=0.25)"


def test_a_model_saves_it() -> None:
    one, two = nn.Module(), nn.Module()
    one.memory, two.memory = learnt().memory, sp.AIMLE().memory
    assert set(one.state_dict()) == {"memory.moved", "memory.nonzeros"}
    two.load_state_dict(one.state_dict())
    assert torch.equal(two.memory.moved, one.memory.moved)


def test_two_backward_passes_of_a_graph_agree() -> None:
    scores = draw_scores("normal", 2, (3, 4), seed=0).requires_grad_()
    g = draw_scores("normal", 2, (3, 4), seed=1)
    post = sp.AIMLE(step=0.5)(scores, sp.DependencyTrees())
    loss = (g * post.parts).sum()
    first, second = (torch.autograd.grad(loss, scores, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)


def test_the_forward_pass_learns_nothing() -> None:
    estimator, scores = sp.AIMLE(), torch.zeros(2, 3, 4, requires_grad=True)
    estimator(scores, sp.DependencyTrees())
    assert estimator.memory.moved == 0
    none = estimator(scores[:0], sp.DependencyTrees()).parts.sum()
    torch.autograd.grad(none, scores)
    assert estimator.memory.moved == 0
    (found,) = torch.autograd.grad(estimator(scores, sp.DependencyTrees()).parts.sum(), scores)
    assert not found.any()  # the step is relative to scores of 0
    assert estimator.memory.moved == estimator.step


def test_it_learns_inside_of_torch_func() -> None:
    small, one, two = SMALL["trees"], sp.AIMLE(noise="normal"), sp.AIMLE(noise="normal")
    scores, g = small.scores(2, seed=0), draw_scores("normal", 2, small.shape, seed=1)

    def loss(scores: Tensor) -> Tensor:
        generator = torch.Generator().manual_seed(0)
        return (g * two(scores, small.structure, generator=generator).parts).sum()

    assert torch.equal(torch.func.grad(loss)(scores), slope(one, small, scores, g, seed=0))
    assert two.memory.moved == one.memory.moved != 0


def test_out_of_training_it_is_the_best_structure() -> None:
    assert sp.AIMLE().at_test() == sp.MAP()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1}, "alpha must be at least 0"),
        ({"target": float("nan")}, "target must be at least 0 and finite"),
        ({"decay": 1}, "decay must be less than 1, got 1"),
        ({"symmetric": 1}, "symmetric: expected True or False, got 1"),
        ({"samples": 0}, "samples must be at least 1"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.AIMLE(**options)
