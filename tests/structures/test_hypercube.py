"""Any set of items: SparseMAP clips the scores to [0, 1]."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsewood as sp
from sparsewood.testing import MarginalsConformance, StructureConformance, draw_scores
from tests.fuzz.family import Family

FUZZED = [
    Family("hypercube", sp.Hypercube(), ((1,), (2,), (3,), (4,), (6,)), lambda n: (n,), 0),
]


class TestHypercube(StructureConformance, MarginalsConformance):
    structure = sp.Hypercube()
    sizes = (1, 5)
    has_lengths = True
    has_empty = True
    shape = staticmethod(lambda n: (n,))


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["normal", "integers"]),
)
def test_marginals_are_the_clipped_scores(n: int, seed: int, kind: str) -> None:
    scores = draw_scores(kind, 2, (n,), seed)
    post = sp.sparsemap(scores, sp.Hypercube())
    assert post.converged.all()
    if kind == "normal":  # otherwise an item may be optional
        assert (post.calls <= 4).all()  # it starts from the closed form
    torch.testing.assert_close(post.marginals, scores.clamp(0, 1), rtol=0, atol=1e-9)


def test_gradient_of_the_clipped_scores() -> None:
    scores = torch.tensor([[-0.5, 0.3, 0.6, 1.7]], dtype=torch.float64, requires_grad=True)
    slope = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    (grad,) = torch.autograd.grad((sp.sparsemap(scores, sp.Hypercube()).marginals @ slope), scores)
    torch.testing.assert_close(grad[0], torch.tensor([0.0, 2.0, 3.0, 0.0]).double())


def test_many_items_take_one_call() -> None:
    scores = draw_scores("normal", 1, (10_000,), seed=0).requires_grad_()
    post = sp.sparsemap(scores, sp.Hypercube())
    shares = scores.detach().clamp(0, 1)
    inside = (shares > 0) & (shares < 1)
    assert (int(post.status), int(post.calls)) == (sp.Status.SOLVED, 1)
    assert int(post.sizes) == inside.sum() + 1
    torch.testing.assert_close(post.marginals.detach(), shares, rtol=0, atol=1e-12)
    (slope,) = torch.autograd.grad((post.marginals * shares.cos()).sum(), scores)
    torch.testing.assert_close(slope, shares.cos() * inside)


def test_equal_shares_do_not_shrink_the_support() -> None:
    """Nested sets alone would have one set per value, which is too few for gradients."""
    shares = torch.tensor([[0.3, 0.3, 0.71, 0.21, 0.71, 0.3]], dtype=torch.float64)
    shares.requires_grad_()
    post = sp.sparsemap(shares, sp.Hypercube())
    assert int(post.sizes) == 7
    assert int(post.calls) == 1
    torch.testing.assert_close(post.marginals.detach(), shares.detach(), rtol=0, atol=1e-14)
    slope = torch.arange(1.0, 7.0, dtype=torch.float64)
    (found,) = torch.autograd.grad(post.marginals @ slope, shares)
    torch.testing.assert_close(found[0], slope)


def test_everything_forbidden_leaves_the_empty_set() -> None:
    post = sp.sparsemap(torch.full((1, 3), -torch.inf), sp.Hypercube())
    assert post.structures.tolist() == [[0, 0, 0]]
    assert post.weights.tolist() == [1.0]


def test_counts_and_members() -> None:
    cube = sp.Hypercube()
    assert cube.count(20) == 2**20
    assert len(cube.enumerate(4)) == 16
    sets = torch.tensor([[1, 0, 1], [1, 2, 0], [1, 1, 1]])
    assert cube.contains(sets, (3,)).tolist() == [True, False, True]
    assert cube.contains(sets, (3,), torch.full((3,), 2)).tolist() == [False, False, False]
    for n in (0, 17):
        with pytest.raises(ValueError, match=f"n = {n}"):
            cube.enumerate(n)
    with pytest.raises(ValueError, match="n = 0"):
        cube.count(0)
