"""Subsets: exactly k, at most k."""

from math import comb

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import MarginalsConformance, StructureConformance, draw_scores
from tests.fuzz.family import Family

FUZZED = [
    Family("subset", sp.Subset(2), ((2,), (3,), (4,), (6,)), lambda n: (n,), 0),
    Family("subset-one", sp.Subset(1), ((1,), (2,), (3,), (4,), (6,)), lambda n: (n,), 0),
    Family(
        "subset-at-most", sp.Subset(at_most=2), ((1,), (2,), (3,), (4,), (6,)), lambda n: (n,), 0
    ),
]


class SubsetConformance(StructureConformance, MarginalsConformance):
    has_lengths = True
    shape = staticmethod(lambda n: (n,))


class TestExactlyTwo(SubsetConformance):
    structure = sp.Subset(2)
    sizes = (2, 6)


@pytest.mark.full
class TestAtMostTwo(SubsetConformance):
    structure = sp.Subset(at_most=2)
    sizes = (1, 5)
    has_empty = True


def capped_simplex(scores: Tensor, k: int, exact: bool) -> Tensor:
    """The nearest point with entries in [0, 1] that sum to k, or to at most k, by bisection."""
    low = scores.min() - 1 if exact else scores.new_zeros(())
    if not exact and scores.clamp(0, 1).sum() <= k:
        return scores.clamp(0, 1)
    high = scores.max()
    for _ in range(200):
        middle = (low + high) / 2
        if (scores - middle).clamp(0, 1).sum() > k:
            low = middle
        else:
            high = middle
    return (scores - high).clamp(0, 1)


@settings(deadline=None, max_examples=40)
@given(data=st.data(), n=st.integers(1, 40), seed=st.integers(0, 2**32 - 1), exact=st.booleans())
def test_marginals_lie_in_the_capped_simplex(
    data: st.DataObject, n: int, seed: int, exact: bool
) -> None:
    k = data.draw(st.integers(1, n))
    scores = draw_scores(data.draw(st.sampled_from(["normal", "integers"])), 2, (n,), seed)
    post = sp.sparsemap(scores, sp.Subset(k) if exact else sp.Subset(at_most=k))
    assert post.converged.all()
    for theta, u in zip(scores, post.marginals, strict=True):
        torch.testing.assert_close(u, capped_simplex(theta, k, exact), rtol=0, atol=1e-9)


@settings(deadline=None, max_examples=60)
@given(data=st.data(), n=st.integers(1, 60), seed=st.integers(0, 2**32 - 1))
def test_starts_from_the_solution(data: st.DataObject, n: int, seed: int) -> None:
    """One or two oracle calls certify sets that span the face, so the gradient is exact."""
    k, at_most = data.draw(st.integers(1, n)), data.draw(st.booleans())
    scores = draw_scores("normal", 1, (n,), seed)
    scores[0, : data.draw(st.integers(0, n - k))] = -torch.inf
    slope = draw_scores("normal", 1, (n,), seed + 1)[0]
    scores.requires_grad_()
    post = sp.sparsemap(scores, sp.Subset(at_most=k) if at_most else sp.Subset(k))
    u = post.marginals[0].detach()
    free, full = (u > 1e-9) & (u < 1 - 1e-9), not at_most or u.sum() > k - 1e-9
    assert post.converged.all()
    assert post.calls <= 4
    assert post.sizes.item() == max(int(free.sum()) + (not full), 1)
    (grad,) = torch.autograd.grad(post.marginals[0] @ slope, scores)
    expected = torch.where(free, slope - slope[free].mean() * full, 0.0)
    torch.testing.assert_close(grad[0], expected, rtol=0, atol=1e-9)


@settings(deadline=None, max_examples=60)
@given(data=st.data(), n=st.integers(1, 8), seed=st.integers(0, 2**32 - 1))
def test_scores_whose_differences_have_no_fraction(data: st.DataObject, n: int, seed: int) -> None:
    k, scale = data.draw(st.integers(1, n)), 10.0 ** data.draw(st.integers(-3, 100))
    common = data.draw(st.sampled_from([0.0, 0.3, 1.0])) * scale
    kind = data.draw(st.sampled_from(["normal", "integers", "equal"]))
    scores = draw_scores(kind, 1, (n,), seed) * data.draw(st.sampled_from([1.0, scale])) + common
    for subset in (sp.Subset(k), sp.Subset(at_most=k)):
        post = sp.sparsemap(scores, subset)
        assert subset.contains(post.structures, (n,)).all()
        assert len(post.structures.unique(dim=0)) == len(post.structures)
        assert post.weights.sum().item() == pytest.approx(1, abs=1e-9)


@settings(deadline=None, max_examples=40)
@given(data=st.data(), n=st.integers(2, 12), seed=st.integers(0, 2**32 - 1))
def test_caps_are_filled_from_the_best_set_on(data: st.DataObject, n: int, seed: int) -> None:
    k, most = data.draw(st.integers(1, n)), data.draw(st.integers(1, 3))
    scores = draw_scores(data.draw(st.sampled_from(["normal", "equal"])), 2, (n,), seed)
    subset = sp.Subset(k)
    assert (sp.sparsemap(scores, subset, max_active=most).sizes <= most).all()
    one = sp.sparsemap(scores, subset, max_active=1)
    assert torch.equal(one.structures, subset.argmax(scores))
    assert (sp.sparsemap(scores, subset, max_iter=1).sizes == 1).all()


@settings(deadline=None, max_examples=50)
@given(data=st.data(), n=st.integers(1, 200), seed=st.integers(0, 2**32 - 1))
def test_argmax_takes_the_first_of_the_best(data: st.DataObject, n: int, seed: int) -> None:
    k = data.draw(st.integers(1, n))
    kind = data.draw(st.sampled_from(["normal", "integers", "equal"]))
    scores = draw_scores(kind, 2, (n,), seed)
    best = scores.argsort(dim=-1, descending=True, stable=True)[:, :k]
    chosen = torch.zeros(2, n, dtype=torch.int64).scatter(1, best, 1)
    assert torch.equal(sp.Subset(k).argmax(scores), chosen)
    assert torch.equal(sp.Subset(at_most=k).argmax(scores), chosen * (scores > 0))


@pytest.mark.parametrize(("k", "n"), [(1_500, 3_000), (300, 3_000)])
def test_many_items_take_two_calls(k: int, n: int) -> None:
    """The closed form has as many sets as items with a fraction, and rounding must not lose any."""
    scores = draw_scores("normal", 1, (n,), seed=0)
    post = sp.sparsemap(scores, sp.Subset(k))
    share = capped_simplex(scores, k, exact=True)
    assert int(post.status) == sp.Status.SOLVED
    assert int(post.calls) <= 2
    assert int(post.sizes) == ((share > 0) & (share < 1)).sum()
    torch.testing.assert_close(post.marginals, share, rtol=0, atol=1e-11)


def test_a_capped_support_of_long_lists_is_optimal() -> None:
    """Sets of so few items that the solver lists them, but of more than a byte counts."""
    scores = draw_scores("normal", 1, (3_000,), seed=1)
    post = sp.sparsemap(scores, sp.Subset(300), max_active=40)
    assert int(post.status) == sp.Status.CAPPED
    rest = scores - post.marginals
    each = post.parts @ rest[0]
    assert float(each.max() - each.min()) < 1e-9
    best = rest.topk(300).values.sum()
    torch.testing.assert_close(post.gap[0], best - each.mean(), rtol=0, atol=1e-9)


def test_counts() -> None:
    assert sp.Subset(3).count(10) == comb(10, 3)
    assert sp.Subset(at_most=2).count(10) == 1 + 10 + comb(10, 2)
    assert sp.Subset(at_most=12).count(10) == 2**10
    assert sp.Subset(3).count(2) == 0


def test_members() -> None:
    sets = torch.tensor([[1, 1, 0], [1, 0, 1], [1, 0, 0], [2, 0, 0]])
    assert sp.Subset(2).contains(sets, (3,)).tolist() == [True, True, False, False]
    assert sp.Subset(at_most=2).contains(sets, (3,)).tolist() == [True, True, True, False]
    lengths = torch.tensor([2, 2, 2, 2])
    assert sp.Subset(2).contains(sets, (3,), lengths).tolist() == [True, False, False, False]


def test_what_is_chosen_must_be_said_once() -> None:
    for arguments in ({}, {"k": 2, "at_most": 3}):
        with pytest.raises(ValueError, match="either k or at_most"):
            sp.Subset(**arguments)
    for arguments in ({"k": 0}, {"at_most": -1}):
        with pytest.raises(ValueError, match="at least 1"):
            sp.Subset(**arguments)


def test_too_few_items() -> None:
    with pytest.raises(ValueError, match=r"k = 4 .* shape \(2, 3\)"):
        sp.sparsemap(torch.zeros(2, 3), sp.Subset(4))
    with pytest.raises(ValueError, match=r"lengths\[1\] is 1: .*k = 2"):
        sp.sparsemap(torch.zeros(2, 3), sp.Subset(2), lengths=torch.tensor([3, 1]))
    few = sp.sparsemap(torch.ones(2, 3), sp.Subset(at_most=2), lengths=torch.tensor([3, 1]))
    assert few[1].structures.tolist() == [[1, 0, 0]]


def test_forbidden_items_that_leave_no_set() -> None:
    scores = torch.zeros(2, 3)
    scores[1, :2] = -torch.inf
    with pytest.raises(ValueError, match=r"\b1\b"):
        sp.Subset(2).argmax(scores)
