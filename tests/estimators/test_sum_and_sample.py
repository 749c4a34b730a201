"""The k best and samples of the rest, against enumeration and a second implementation."""

from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import EstimatorConformance, draw_scores
from tests.seats import Seats
from tests.unbiased import FAMILIES, LOSSES, deviations

TREES = sp.DependencyTrees()


class TestOneSample(EstimatorConformance):
    estimator = sp.SumAndSample(2)
    exact = False


class TestSeveral(EstimatorConformance):
    estimator = sp.SumAndSample(4, 3, temperature=2.0)
    exact = False


class TestOfAlignments(EstimatorConformance):
    estimator = sp.SumAndSample(2, 2)
    structure = sp.Alignment()
    shape = (4, 3)
    lengths = torch.tensor([[4, 3], [2, 3], [3, 1]])
    exact = False


class TestOfAllStructures(EstimatorConformance):
    estimator = sp.SumAndSample(125)  # of four words: no samples, so the exact distribution


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "estimator",
    [sp.SumAndSample(3), sp.SumAndSample(1, 3), sp.SumAndSample(2, 2, temperature=2.0)],
    ids=repr,
)
def test_unbiased(estimator: sp.SumAndSample, family: str, loss: str) -> None:
    off = deviations(estimator, family, loss, temperature=estimator.temperature)
    assert off.abs().max() < 4


def test_it_varies_less_than_the_samples_alone() -> None:
    scores = draw_scores("normal", 1, (4, 5), seed=0).expand(2000, 4, 5).clone().requires_grad_()
    values = draw_scores("normal", 1, (4, 5), seed=1)
    spread = {}
    for estimator in (sp.SumAndSample(3, 2), sp.ScoreFunction(2)):
        post = estimator(scores, TREES, generator=torch.Generator().manual_seed(0))
        (slope,) = torch.autograd.grad((values * post.marginals).sum(), scores)
        spread[type(estimator)] = slope.var(0).sum()
    assert spread[sp.SumAndSample] < spread[sp.ScoreFunction]


def by_hand(scores: Tensor, losses: list[Tensor], post: sp.Posterior, k: int) -> Tensor:
    """A surrogate with detached factors whose derivative is the gradient, per instance."""
    total = scores.new_zeros(())
    parts = TREES.indicator(TREES.enumerate(4))
    for b, one in enumerate(post):
        log_z = (scores[b] * parts).flatten(1).sum(-1).logsumexp(0)
        log_p = (scores[b] * one.parts).flatten(1).sum(-1) - log_z
        p, rest = log_p[:k].exp(), 1 - log_p[:k].exp().sum()
        best, others = losses[b][:k], losses[b][k:]
        total = total + (p * best).sum() + rest * others.mean()
        for s, loss in enumerate(others):
            kept = [float(x) for i, x in enumerate(others) if i != s]
            mean = float((p.detach() * best).sum() / p.detach().sum())
            baseline = sum(kept) / len(kept) if kept else mean
            score = log_p[k + s] - rest.log()
            total = total + rest.detach() * (loss - baseline) / len(others) * score
    return total


@pytest.mark.parametrize("samples", [1, 2, 4])
def test_weights_and_gradient_by_hand(samples: int) -> None:
    scores = draw_scores("normal", 3, (4, 5), seed=2).requires_grad_()
    post = sp.SumAndSample(2, samples)(scores, TREES, generator=torch.Generator().manual_seed(0))
    assert post.sizes.tolist() == [2 + samples] * 3
    best = sp.kbest(scores, TREES, 2)
    dist = sp.marginals(scores, TREES)
    for b, one in enumerate(post):
        assert torch.equal(one.structures[:2], best.structures[b])
        assert not any(torch.equal(h, g) for h in one.structures[2:] for g in best.structures[b])
    probabilities = torch.stack([dist.log_prob(best.structures[:, i]).exp() for i in range(2)], 1)
    weights = post.weights.reshape(3, -1)
    torch.testing.assert_close(weights[:, :2], probabilities)
    rest = ((1 - probabilities.sum(-1)) / samples)[:, None].expand(3, samples)
    torch.testing.assert_close(weights[:, 2:], rest)
    losses = draw_scores("normal", 3, (2 + samples,), seed=3)
    (found,) = torch.autograd.grad(post.expect(losses.flatten()).sum(), scores)
    (wanted,) = torch.autograd.grad(by_hand(scores, list(losses), post, 2), scores)
    torch.testing.assert_close(found, wanted)


def test_fewer_samples_than_asked_for() -> None:
    """The rest has 1 %: some instances find fewer than 6 samples, and some none."""
    scores = torch.zeros(400, 2, 3, dtype=torch.float64)
    scores[:, 0, 0] = scores[:, 1, 1] = 7.5
    scores.requires_grad_()
    post = sp.SumAndSample(1, 6)(scores, TREES, generator=torch.Generator().manual_seed(0))
    assert set(post.sizes.tolist()) > {1, 2, 3}
    torch.testing.assert_close(
        post.expect(torch.ones_like(post.weights)).detach(), torch.ones(400).double()
    )
    assert (post.weights[torch.isin(post.instance, (post.sizes == 1).nonzero())] == 1).all()
    (slope,) = torch.autograd.grad(post.expect(post.instance.double()).sum(), scores)
    assert slope.abs().max() < 1e-10  # all structures of an instance have the same loss


def test_sure_scores_need_no_samples() -> None:
    scores = torch.zeros(1, 3, 4)
    scores[0, range(3), range(3)] = 60.0
    post = sp.SumAndSample(2, 3)(scores.requires_grad_(), TREES)
    assert post.sizes.tolist() == [2]
    torch.testing.assert_close(post.weights.sum(), torch.tensor(1.0))
    (slope,) = torch.autograd.grad(post.weights[0], scores)
    assert slope.isfinite().all()


def test_any_batch_is_the_flat_one() -> None:
    scores = draw_scores("normal", 6, (4, 5), seed=3)
    lengths = torch.tensor([4, 3, 2, 1, 4, 4])
    found = []
    for batch in ((6,), (2, 3)):
        given = scores.reshape(*batch, 4, 5).requires_grad_()
        generator = torch.Generator().manual_seed(0)
        post = sp.SumAndSample(3, 2)(given, TREES, lengths.reshape(batch), generator=generator)
        values = torch.arange(len(post.weights)).double().sqrt()
        (slope,) = torch.autograd.grad(post.expect(values).sum(), given)
        assert post.sizes.flatten().tolist() == [5, 5, 3, 1, 5, 5]  # two words have three trees
        assert post.sizes.shape == batch
        found.append((post.structures, post.weights, slope.reshape(6, 4, 5)))
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)
    assert sp.SumAndSample(2)(scores[0], TREES).sizes.shape == ()


def test_samples_of_short_sentences_are_none_of_the_best() -> None:
    scores = draw_scores("normal", 50, (4, 5), seed=4)
    lengths = torch.tensor([2, 3]).repeat(25)
    post = sp.SumAndSample(2, 2)(scores, TREES, lengths, generator=torch.Generator().manual_seed(0))
    assert (post.sizes > 2).float().mean() > 0.8
    for one in post:
        assert not any(torch.equal(h, g) for h in one.structures[2:] for g in one.structures[:2])


def test_out_of_training_it_is_the_best_structure() -> None:
    assert sp.SumAndSample(2).at_test() == sp.MAP()


def test_families_that_lack_something() -> None:
    with pytest.raises(TypeError, match=r"SumAndSample\(k=2\) needs a sum.*Matching"):
        sp.SumAndSample(2)(torch.zeros(1, 3, 3), sp.Matching())
    with pytest.raises(TypeError, match=r"SumAndSample\(k=2\) needs the k best structures"):
        sp.SumAndSample(2)(torch.zeros(1, 3), Seats())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"k": 2, "samples": 0}, "samples must be at least 1"),
        ({"k": 2, "temperature": -1.0}, "temperature must be positive"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.SumAndSample(**options)
