"""Exact samples of matchings against enumeration."""

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import draw_scores

SAMPLES = 4000
kinds = pytest.mark.parametrize("partial", [False, True])


def check(drawn: Tensor, scores: Tensor, matching: sp.Matching) -> None:
    """Samples (S, n) of one instance (n, m), by a chi-square statistic at five deviations."""
    n, m = scores.shape
    everything = matching.enumerate(n, m)
    parts = matching.indicator(everything, (n, m)).bool()
    prob = torch.where(parts, scores, 0.0).flatten(1).sum(-1).softmax(-1)
    found = (drawn[:, None] == everything).all(-1).double().sum(0)
    assert found.sum() == len(drawn)
    assert (found[prob == 0] == 0).all()
    often = prob * len(drawn) >= 5
    wanted, found = (prob * len(drawn))[often], found[often]
    freedom = int(often.sum())
    statistic = ((found - wanted).square() / wanted).sum()
    assert statistic <= freedom + 5 * (2 * freedom) ** 0.5


@kinds
@pytest.mark.parametrize("sides", [(1, 1), (3, 3), (2, 4), (4, 2)])
def test_samples_follow_the_distribution(partial: bool, sides: tuple[int, int]) -> None:
    matching = sp.Matching(partial=partial)
    scores = draw_scores("normal", 2, sides, seed=0) * 1.5
    if min(sides) > 1:
        scores[1, 0, 0] = -torch.inf
    generator = torch.Generator().manual_seed(0)
    drawn = sp.sample_matchings(scores, matching, SAMPLES, temperature=1.5, generator=generator)
    assert drawn.shape == (SAMPLES, 2, sides[0])
    for b in range(2):
        check(drawn[:, b], scores[b] / 1.5, matching)


@kinds
def test_padding_is_never_read(partial: bool) -> None:
    matching = sp.Matching(partial=partial)
    lengths = torch.tensor([[2, 3], [3, 2], [1, 1]])
    scores = draw_scores("normal", 3, (4, 3), seed=1)
    scores[~matching.reads(scores, lengths)] = torch.nan
    generator = torch.Generator().manual_seed(0)
    drawn = sp.sample_matchings(scores, matching, SAMPLES, lengths=lengths, generator=generator)
    for b, (n, m) in enumerate(lengths.tolist()):
        assert (drawn[:, b, n:] == -1).all()
        check(drawn[:, b, :n], scores[b, :n, :m], matching)


def test_larger_matchings_are_members() -> None:
    scores = draw_scores("normal", 2, (12, 12), seed=0).float()
    drawn = sp.sample_matchings(scores, sp.Matching(), 5)
    assert drawn.dtype == torch.int64
    assert (drawn.sort(-1).values == torch.arange(12)).all()


@pytest.mark.parametrize("scale", [30.0, 1e6, 1e15])
@pytest.mark.parametrize("partial", [False, True])
def test_far_apart_scores_give_the_best_matching(scale: float, partial: bool) -> None:
    scores = scale * draw_scores("normal", 3, (4, 5), seed=1).double()
    structure = sp.Matching(partial=partial)
    drawn = sp.sample_matchings(scores, structure, 4, max_trials=100_000)
    best = sp.kbest(scores, structure, 2)
    certain = best.scores[:, 0] - best.scores[:, 1] > 40
    assert certain.any() or scale < 1e6
    assert (drawn[:, certain] == best.structures[certain, 0]).all()


def test_no_instances() -> None:
    assert sp.sample_matchings(torch.zeros(0, 2, 3), sp.Matching(), 4).shape == (4, 0, 2)


def test_bad_input_is_named() -> None:
    scores = torch.zeros(2, 2, 2)
    with pytest.raises(ValueError, match="at least 1"):
        sp.sample_matchings(scores, sp.Matching(), 0)
    with pytest.raises(ValueError, match="expected a Matching, got DependencyTrees"):
        sp.sample_matchings(scores, sp.DependencyTrees())  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"temperature\[1\] must be positive"):
        sp.sample_matchings(scores, sp.Matching(), temperature=torch.tensor([1.0, 0.0]))
    empty = scores.clone()
    empty[1, 0] = -torch.inf
    with pytest.raises(ValueError, match=r"\b1\b"):
        sp.sample_matchings(empty, sp.Matching())
    bad = scores.clone()
    bad[1, 0, 1] = torch.nan
    with pytest.raises(ValueError, match="instance 1"):
        sp.sample_matchings(bad, sp.Matching())
    with pytest.raises(ValueError, match=r"scores\[0, 0, 0\] / temperature is 1e\+300"):
        sp.sample_matchings(torch.full((2, 2, 2), 1e300, dtype=torch.float64), sp.Matching())
    with pytest.raises(ValueError, match=r"scores\[0, 0, 0\] / temperature is inf"):
        sp.sample_matchings(scores + 1, sp.Matching(), temperature=1e-310)
    with pytest.raises(RuntimeError, match="max_trials"):
        sp.sample_matchings(scores, sp.Matching(), max_trials=0)


def test_a_sample_does_not_depend_on_the_rest_of_the_batch() -> None:
    matching = sp.Matching(partial=True)
    scores = torch.tensor([-9999999999807.549, 99999998.4465312, 1e60], dtype=torch.float64)
    drawn = sp.sample_matchings(scores.reshape(3, 1, 1), matching, 5)
    assert drawn[..., 0].tolist() == [[-1, 0, 0]] * 5
