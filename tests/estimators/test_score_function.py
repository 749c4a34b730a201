"""The score function, against enumeration and a second implementation."""

import copy
import pickle
from dataclasses import replace
from typing import Any

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import EstimatorConformance, draw_scores
from tests.unbiased import FAMILIES, LOSSES, deviations

TREES = sp.DependencyTrees()


class TestLeaveOneOut(EstimatorConformance):
    estimator = sp.ScoreFunction(3)
    exact = False


class TestSelfCritic(EstimatorConformance):
    estimator = sp.ScoreFunction(2, "self-critic", temperature=0.5)
    exact = False


class TestMoving(EstimatorConformance):
    estimator = sp.ScoreFunction(1, "moving")
    exact = False


class TestOfAlignments(EstimatorConformance):
    estimator = sp.ScoreFunction(3)
    structure = sp.Alignment()
    shape = (4, 3)
    lengths = torch.tensor([[4, 3], [2, 3], [3, 1]])
    exact = False


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "estimator",
    [
        sp.ScoreFunction(3),
        sp.ScoreFunction(2, temperature=2.0),
        sp.ScoreFunction(2, "self-critic"),
        sp.ScoreFunction(2, "moving", decay=0.0),
    ],
    ids=repr,
)
def test_unbiased(estimator: sp.ScoreFunction, family: str, loss: str) -> None:
    off = deviations(estimator, family, loss, temperature=estimator.temperature)
    assert off.abs().max() < 4


def slope_of(
    estimator: sp.Estimator, scores: torch.Tensor, losses: torch.Tensor
) -> tuple[sp.Posterior, torch.Tensor]:
    post = estimator(scores, TREES, generator=torch.Generator().manual_seed(0))
    (slope,) = torch.autograd.grad(post.expect(losses.flatten()).sum(), scores)
    return post, slope


def drawn(batch: int, k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Scores, losses (B, k) and the marginals of trees over four words."""
    scores = draw_scores("normal", batch, (4, 5), seed=1).requires_grad_()
    losses = draw_scores("normal", batch, (k,), seed=2)
    return scores, losses, sp.marginals(scores.detach(), TREES).marginals


def test_leave_one_out_is_what_the_formula_says() -> None:
    scores, losses, mu = drawn(2, 5)
    post, slope = slope_of(sp.ScoreFunction(5), scores, losses)
    assert post.weights.tolist() == [0.2] * 10
    parts = post.parts.reshape(2, 5, 4, 5)
    for b in range(2):
        wanted = torch.zeros(4, 5, dtype=torch.float64)
        for k in range(5):
            others = [float(losses[b, j]) for j in range(5) if j != k]
            wanted += (losses[b, k] - sum(others) / 4) * (parts[b, k] - mu[b]) / 5
        torch.testing.assert_close(slope[b], wanted)


def test_the_critic_is_the_best_structure_and_weighs_nothing() -> None:
    scores, losses, mu = drawn(2, 4)
    post, slope = slope_of(sp.ScoreFunction(3, "self-critic"), scores, losses)
    assert post.sizes.tolist() == [4, 4]
    assert torch.equal(
        post.weights, torch.tensor([1 / 3, 1 / 3, 1 / 3, 0] * 2, dtype=torch.float64)
    )
    trees = post.structures.reshape(2, 4, 4)
    assert torch.equal(trees[:, -1], sp.map(scores, TREES).structures)
    torch.testing.assert_close(post.expect(losses.flatten()), losses[:, :3].mean(-1))
    centred = (losses[:, :3] - losses[:, 3:])[..., None, None]
    parts = post.parts.reshape(2, 4, 4, 5)[:, :3]
    torch.testing.assert_close(slope, (centred * (parts - mu[:, None])).mean(1))


def test_the_moving_mean_is_of_earlier_steps() -> None:
    scores, losses, mu = drawn(2, 3)
    estimator = sp.ScoreFunction(3, "moving", decay=0.5)
    seen: list[float] = []
    for step in range(3):
        weights = [0.5 ** (step - 1 - t) for t in range(step)]
        shares = zip(weights, seen, strict=True)
        baseline = sum(w * s for w, s in shares) / sum(weights) if step else 0.0
        assert float(estimator.memory.mean()) == pytest.approx(baseline)
        now = losses + step
        post, slope = slope_of(estimator, scores, now)
        centred = (now - baseline)[..., None, None]
        wanted = (centred * (post.parts.reshape(2, 3, 4, 5) - mu[:, None])).mean(1)
        torch.testing.assert_close(slope, wanted, rtol=1e-6, atol=1e-6)  # a mean in float32
        seen.append(float(now.mean()))


def test_a_loss_that_overflows_is_not_remembered() -> None:
    scores, losses, _ = drawn(2, 3)
    estimator = sp.ScoreFunction(3, "moving")
    slope_of(estimator, scores, losses)
    before = estimator.memory.mean()
    slope_of(estimator, scores, losses + torch.inf)
    assert estimator.memory.mean() == before


def test_the_memory_goes_along_and_makes_no_difference() -> None:
    scores, losses, _ = drawn(2, 3)
    estimator = sp.ScoreFunction(3, "moving")
    slope_of(estimator, scores, losses)
    mean = estimator.memory.mean()
    assert mean != 0
    assert estimator == sp.ScoreFunction(3, "moving")
    assert hash(estimator) == hash(sp.ScoreFunction(3, "moving"))
    assert repr(estimator) == "ScoreFunction(samples=3, baseline='moving')"
    assert replace(estimator, samples=4).memory is estimator.memory
    for other in (pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator)):
        assert other.memory is not estimator.memory
        assert other.memory.mean() == mean
    again = sp.ScoreFunction(3, "moving")
    again.memory.load_state_dict(estimator.memory.state_dict())
    assert again.memory.mean() == mean


@pytest.mark.parametrize("baseline", ["loo", "self-critic", "moving"])
def test_any_batch_is_the_flat_one(baseline: Any) -> None:
    scores = draw_scores("normal", 6, (4, 5), seed=3)
    lengths = torch.tensor([4, 3, 2, 1, 4, 4])
    found = []
    for batch in ((6,), (2, 3)):
        given = scores.reshape(*batch, 4, 5).requires_grad_()
        generator = torch.Generator().manual_seed(0)
        estimator = sp.ScoreFunction(2, baseline)
        post = estimator(given, TREES, lengths.reshape(batch), generator=generator)
        values = torch.arange(len(post.weights)).double().sqrt()
        (slope,) = torch.autograd.grad(post.expect(values).sum(), given)
        assert post.sizes.shape == post.mode.shape[:-1] == batch
        found.append((post.structures, post.weights, slope.reshape(6, 4, 5)))
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)
    alone = sp.ScoreFunction(2, baseline)(scores[0], TREES)
    assert alone.sizes.shape == ()
    assert alone.mode.shape == (4,)


def test_equal_samples_stay_apart() -> None:
    scores = torch.tensor([[[9.0, 0.0]]], requires_grad=True)  # one word has one tree
    post = sp.ScoreFunction(3)(scores, TREES)
    assert post.structures.tolist() == [[0]] * 3
    assert post.mode.tolist() == [[0]]


def test_the_gradient_of_half_precision_is_rounded_once() -> None:
    scores, losses, _ = drawn(2, 4)
    half = scores.detach().bfloat16().requires_grad_()
    post, slope = slope_of(sp.ScoreFunction(4), half, losses.bfloat16())
    exact, wanted = slope_of(
        sp.ScoreFunction(4), half.detach().double().requires_grad_(), losses.bfloat16().double()
    )
    assert torch.equal(post.structures, exact.structures)
    assert slope.dtype == post.weights.dtype == torch.bfloat16
    torch.testing.assert_close(slope.double(), wanted, rtol=2**-8, atol=1e-6)


def test_out_of_training_it_is_the_best_structure() -> None:
    assert sp.ScoreFunction().at_test() == sp.MAP()
    assert not sp.ScoreFunction(2, "self-critic")(torch.zeros(1, 2, 3), TREES).weights.requires_grad


def test_a_family_without_sums() -> None:
    with pytest.raises(TypeError, match=r"ScoreFunction\(samples=2\) needs a sum.*Matching"):
        sp.ScoreFunction(2)(torch.zeros(1, 3, 3), sp.Matching())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0}, "samples must be at least 1"),
        ({"samples": 1}, 'samples must be at least 2 for the baseline "loo", got 1'),
        ({"baseline": "mean"}, "baseline: expected one of loo, self-critic, moving; got 'mean'"),
        ({"temperature": 0.0}, "temperature must be positive"),
        ({"decay": 1.0}, "decay must be less than 1, got 1.0"),
        ({"decay": -0.5}, "decay must be at least 0"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.ScoreFunction(**options)
