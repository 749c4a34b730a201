"""Rankings: orders of items, with ranks as parts."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsewood as sp
from sparsewood.structures._permutahedron import rankings_of
from sparsewood.testing import MarginalsConformance, StructureConformance, draw_scores
from tests.fuzz.family import Family

FUZZED = [Family("rankings", sp.Rankings(), ((1,), (2,), (3,), (4,)), lambda n: (n,), 0)]


class TestRankings(StructureConformance, MarginalsConformance):
    structure = sp.Rankings()
    has_lengths = True
    shape = staticmethod(lambda n: (n,))


def test_they_are_counted() -> None:
    for n in range(1, 8):
        assert sp.Rankings().count(n) == factorial(n)
    assert len(sp.Rankings().enumerate(7)) == 5040
    with pytest.raises(ValueError, match="40320 of 8 items"):
        sp.Rankings().enumerate(8)
    with pytest.raises(ValueError, match="at least one item"):
        sp.Rankings().count(0)


def test_the_largest_score_has_the_highest_rank() -> None:
    best = sp.map(torch.tensor([[0.5, -1.0, 0.5, 7.0]]), sp.Rankings())
    assert best.structures.tolist() == [[2, 1, 3, 4]]  # the first of equal scores comes first
    assert best.scores.tolist() == [0.5 * 2 - 1 + 0.5 * 3 + 7 * 4]


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 60),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([0.0, 1e-6, 0.1, 1.0, 10.0, 100.0, 1e6]),
    rounded=st.booleans(),
)
def test_a_point_is_a_mean_of_rankings(n: int, seed: int, scale: float, rounded: bool) -> None:
    """By an isotonic regression in NumPy: affinely independent, with the right mean."""
    z = scale * draw_scores("normal", 1, (n,), seed)[0]
    z = (z.round() if rounded else z).sort().values
    rankings, weights = rankings_of(z)
    assert (rankings.sort(-1).values == torch.arange(1, n + 1)).all()
    assert (weights > 0).all()
    assert abs(float(weights.sum()) - 1) < 1e-12
    u = torch.from_numpy(projected(z.numpy()))
    torch.testing.assert_close(weights @ rankings.double(), u, rtol=0, atol=1e-9 * n)
    assert torch.equal(rankings[0], torch.arange(1, n + 1))
    assert float(weights[0]) >= 0.5 - 1e-12
    if not rounded and scale > 0:  # in general position: one more than the dimension of the face
        pools = int((u[1:] - u[:-1] - (z[1:] - z[:-1])).abs().gt(1e-12).sum()) + 1
        assert len(rankings) == n - pools + 1
    differences = (rankings[1:] - rankings[0]).double()
    if len(differences):
        assert int(torch.linalg.matrix_rank(differences)) == len(differences) < n


def projected(z: np.ndarray) -> np.ndarray:
    """The projection of sorted z onto the permutahedron: `z - v`, pools found by minimax.

    v[i] = max over a <= i of min over b >= i of the mean of `z - (1, ..., n)` from a to b.
    """
    n = len(z)
    sums = np.concatenate([[0.0], np.cumsum(z - np.arange(1, n + 1))])
    means = np.array(
        [
            [(sums[b + 1] - sums[a]) / (b + 1 - a) if b >= a else np.inf for b in range(n)]
            for a in range(n)
        ]
    )
    return z - np.array([max(means[a, i:].min() for a in range(i + 1)) for i in range(n)])


@settings(deadline=None, max_examples=20)
@given(n=st.integers(1, 120), seed=st.integers(0, 2**32 - 1))
def test_posteriors_over_many_items_are_certified(n: int, seed: int) -> None:
    scores = 3 * draw_scores("normal", 2, (n,), seed)
    post = sp.sparsemap(scores, sp.Rankings())
    assert post.converged.all()
    assert (post.calls <= 2).all()
    torch.testing.assert_close(post.marginals, sp.soft_rank(scores), rtol=0, atol=1e-8)
    assert (post.sizes <= n).all()


def test_the_gradient_is_that_of_soft_ranks() -> None:
    scores = (40 * draw_scores("normal", 3, (200,), seed=1)).requires_grad_()
    slope = draw_scores("normal", 3, (200,), seed=2)
    lengths = torch.tensor([200, 12, 101])
    post = sp.sparsemap(scores, sp.Rankings(), lengths=lengths)
    (found,) = torch.autograd.grad((post.marginals * slope).sum(), scores)
    for b, n in enumerate(lengths.tolist()):
        own = scores.detach()[b, :n].requires_grad_()
        (wanted,) = torch.autograd.grad(sp.soft_rank(own) @ slope[b, :n], own)
        torch.testing.assert_close(found[b, :n], wanted, rtol=0, atol=1e-9)
        assert (found[b, n:] == 0).all()


def test_caps_limit_rankings_of_many_items() -> None:
    scores = draw_scores("normal", 1, (20_000,), seed=0)
    assert int(sp.sparsemap(scores, sp.Rankings(), max_active=3).sizes) <= 3
    with pytest.raises(ValueError, match=r"too many for n = 20000: .* soft_rank"):
        sp.sparsemap(scores, sp.Rankings())


@settings(deadline=None, max_examples=30)
@given(n=st.integers(1, 6), k=st.integers(1, 30), seed=st.integers(0, 2**32 - 1))
def test_the_best_are_those_of_a_full_list(n: int, k: int, seed: int) -> None:
    scores = draw_scores("normal", 1, (n,), seed)
    best = sp.kbest(scores, sp.Rankings(), k)
    everything = torch.tensor(list(permutations(range(1, n + 1)))).double()
    totals = (everything @ scores[0]).sort(descending=True).values[:k]
    torch.testing.assert_close(best.scores[0, : len(totals)], totals)
    assert len(best.structures[0, : len(totals)].unique(dim=0)) == len(totals)


def test_the_best_of_many_items_with_lengths() -> None:
    scores = draw_scores("normal", 2, (3, 500), seed=3)[0]
    scores[1, 400:] = torch.nan
    best = sp.kbest(scores, sp.Rankings(), 20, lengths=torch.tensor([500, 400, 1]))
    assert (best.scores[:2].diff() <= 1e-9).all()
    assert (best.structures[1, :, 400:] == 0).all()
    assert best.scores[2, 1:].tolist() == [-torch.inf] * 19
    assert torch.equal(best.structures[:, 0], sp.map(
        scores, sp.Rankings(), lengths=torch.tensor([500, 400, 1])
    ).structures)  # fmt: skip


def test_no_item_can_be_forbidden() -> None:
    scores = torch.zeros(2, 3)
    scores[1, 2] = -torch.inf
    for call in (
        lambda: sp.map(scores, sp.Rankings()),
        lambda: sp.sparsemap(scores, sp.Rankings()),
        lambda: sp.kbest(scores, sp.Rankings(), 2),
        lambda: sp.marginals(scores, sp.Rankings()),
        lambda: sp.max_marginals(scores, sp.Rankings()),
    ):
        with pytest.raises(ValueError, match="instance 1 has no structure left"):
            call()


def test_sums_over_many_items_are_refused() -> None:
    with pytest.raises(ValueError, match="of 13 items: the sum over all rankings is a permanent"):
        sp.marginals(torch.zeros(1, 13), sp.Rankings())
    dist = sp.marginals(torch.zeros(1, 12), sp.Rankings())
    torch.testing.assert_close(dist.log_partition.exp(), torch.tensor([float(factorial(12))]))


def test_max_marginals_put_an_item_last() -> None:
    scores = draw_scores("normal", 2, (5,), seed=4).requires_grad_()
    found = sp.max_marginals(scores, sp.Rankings())
    everything = sp.Rankings().enumerate(5).double()
    for item in range(5):
        last = everything[everything[:, item] == 5]
        torch.testing.assert_close(found[:, item], (scores @ last.T).amax(-1))
    (slope,) = torch.autograd.grad(found.sum(), scores)
    assert slope.sum() == 2 * 5 * 15


@pytest.mark.parametrize(
    "estimator",
    [
        sp.SparseMAP(), sp.StraightThrough(), sp.StraightThrough("marginals"), sp.IMLE(),
        sp.AIMLE(), sp.Perturbed(), sp.Blackbox(), sp.Spigot(), sp.Spigot(backward="ce"),
        sp.TopK(3), sp.Gibbs(), sp.Relaxed(), sp.ScoreFunction(), sp.SumAndSample(2), sp.MAP(),
    ],
)  # fmt: skip
def test_every_estimator_takes_them(estimator: sp.Estimator) -> None:
    scores = draw_scores("normal", 3, (4,), seed=5).requires_grad_()
    lengths = torch.tensor([4, 2, 3])
    post = estimator(scores, sp.Rankings(), lengths, generator=torch.Generator().manual_seed(0))
    total = (lengths * (lengths + 1) // 2).double()
    torch.testing.assert_close(post.marginals.sum(-1), total)
    if estimator.gradient_through == "none":
        return
    loss = post.expect((post.parts * torch.arange(4)).sum(-1)).sum()
    (slope,) = torch.autograd.grad(loss, scores)
    assert slope.isfinite().all()
    assert (slope[1, 2:] == 0).all()
