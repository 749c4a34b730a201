"""One out of n: SparseMAP is sparsemax."""

import math

import pytest
import torch
from entmax import sparsemax
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsewood as sp
from sparsewood.testing import MarginalsConformance, StructureConformance, draw_scores
from tests.fuzz.family import Family

FUZZED = [
    Family("simplex", sp.Simplex(), ((1,), (2,), (3,), (4,), (6,)), lambda n: (n,), None),
]

KINDS = st.sampled_from(["normal", "small", "integers", "equal"])


class TestSimplex(StructureConformance, MarginalsConformance):
    structure = sp.Simplex()
    sizes = (1, 6)
    has_lengths = True
    shape = staticmethod(lambda n: (n,))


@settings(deadline=None, max_examples=50)
@given(n=st.integers(1, 60), seed=st.integers(0, 2**32 - 1), kind=KINDS)
def test_equals_sparsemax(n: int, seed: int, kind: str) -> None:
    scores = draw_scores(kind, 3, (n,), seed).requires_grad_()
    slope = draw_scores("normal", 3, (n,), seed + 1)
    post = sp.sparsemap(scores, sp.Simplex())
    expected = sparsemax(scores, dim=-1)
    torch.testing.assert_close(post.marginals, expected, rtol=0, atol=1e-12)
    (ours,) = torch.autograd.grad((slope * post.marginals).sum(), scores)
    (theirs,) = torch.autograd.grad((slope * expected).sum(), scores)
    if kind == "normal":  # otherwise an item may have weight zero, where two gradients are valid
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_lengths_cut_the_items_off() -> None:
    scores = torch.tensor([[0.2, 0.1, 9.0], [0.2, 0.1, 0.0]])
    post = sp.sparsemap(scores, sp.Simplex(), lengths=torch.tensor([2, 3]))
    torch.testing.assert_close(post.marginals[0, :2], sparsemax(scores[0, :2], dim=-1))
    torch.testing.assert_close(post.marginals[1], sparsemax(scores[1], dim=-1))
    assert post.structures.shape == (5,)


def test_many_items_with_equal_scores() -> None:
    post = sp.sparsemap(torch.zeros(1, 1000), sp.Simplex())
    assert post.converged.all()
    assert post.calls.item() == 1
    torch.testing.assert_close(post.marginals, torch.full((1, 1000), 1 / 1000))


def test_near_equal_and_forbidden_items() -> None:
    scores = 1e-3 * torch.randn(1, 400, dtype=torch.float64, generator=torch.manual_seed(0))
    scores[0, ::3] = -torch.inf
    post = sp.sparsemap(scores, sp.Simplex())
    assert post.converged.all()
    assert post.calls.item() <= 3
    expected = torch.zeros_like(scores)
    expected[0, scores[0].isfinite()] = sparsemax(scores[0, scores[0].isfinite()], dim=-1)
    torch.testing.assert_close(post.marginals, expected, rtol=0, atol=1e-12)


def test_indicator_decode_and_contains() -> None:
    simplex = sp.Simplex()
    index = torch.tensor([2, 0])
    parts = simplex.indicator(index, (3,))
    assert parts.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert torch.equal(simplex.decode(parts), index)
    inside = simplex.contains(torch.tensor([0, 2, 3, -1]), (4,), torch.full((4,), 3))
    assert inside.tolist() == [True, True, False, False]
    assert simplex.count(1000) == 1000


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"expected \(\*batch, n\).*\(2, 3, 4\)"):
        sp.Simplex().validate(torch.zeros(2, 3, 4))
    with pytest.raises(ValueError, match="at least one item"):
        sp.Simplex().enumerate(0)


def test_a_posterior_over_single_numbers() -> None:
    scores = torch.tensor([[0.9, 0.6, 0.1], [0.0, 3.0, 0.0]])
    post = sp.sparsemap(scores, sp.Simplex())
    expected = [pytest.approx(math.log(0.35)), 0.0]
    assert post.log_prob(torch.tensor([1, 1])).tolist() == expected
    assert post.log_prob(torch.tensor([2, 0])).tolist() == [-torch.inf, -torch.inf]
    assert post.mode.tolist() == [0, 1]
    assert post.sample(4).shape == (4, 2)
    assert post.topk(2).structures.tolist() == [[0, 1], [1, 1]]
    assert post.entropy()[1] == 0
    assert post[0].structures.tolist() == [0, 1]
    assert "0.6500  0" in repr(post[0])
    assert "1 to 2 structures each" in repr(post)
    assert post[0]._repr_html_()
    assert post.product(post).weights.shape == (5,)
    assert post.expect(lambda structures, instance: structures).tolist() == pytest.approx([0.35, 1])
    with pytest.raises(ValueError, match="forest: expected trees"):
        post.forest()
    with pytest.raises(ValueError, match=r"log_prob: expected \(2,\), got \(2, 1\)"):
        post.log_prob(torch.tensor([[1], [1]]))
