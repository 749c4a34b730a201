"""The reference solver against closed forms, and the native solver against it."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import KINDS, draw_scores
from tests.choice import Choice
from tests.trees import FAMILIES

TREES = FAMILIES[0]


def sparsemax(scores: Tensor) -> Tensor:
    """Martins & Astudillo 2016, algorithm 1: `max(scores - tau, 0)`."""
    ordered = scores.sort(-1, descending=True).values
    rank = torch.arange(1, scores.shape[-1] + 1)
    total = ordered.cumsum(-1) - 1
    size = (rank * ordered > total).sum(-1, keepdim=True)
    tau = total.gather(-1, size - 1) / size
    return (scores - tau).clamp(min=0)


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(1, 12),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([1e-6, 0.1, 1.0, 10.0]),
)
def test_one_choice_is_sparsemax(n: int, seed: int, scale: float) -> None:
    scores = (scale * draw_scores("normal", 3, (n,), seed)).requires_grad_()
    post = sp.sparsemap(scores, Choice())
    expected = sparsemax(scores)
    torch.testing.assert_close(post.marginals, expected, rtol=0, atol=1e-9)
    direction = draw_scores("normal", 3, (n,), seed + 1)
    (ours,) = torch.autograd.grad((post.marginals * direction).sum(), scores)
    (theirs,) = torch.autograd.grad((expected * direction).sum(), scores)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-9)


def test_thousands_of_equal_choices() -> None:
    post = sp.sparsemap(torch.full((1, 3000), 7.0, dtype=torch.float64), Choice(), max_iter=40)
    assert not post.converged.any()
    assert post.sizes.tolist() == [40]
    assert post.weights.tolist() == pytest.approx([1 / 40] * 40)


def test_native_is_refused_where_there_is_none() -> None:
    with pytest.raises(ValueError, match='no native solver: use solver="generic"'):
        sp.sparsemap(torch.zeros(1, 3), Choice(), solver="native")


@pytest.mark.parametrize("cap", [1, 2, 3, 5])
def test_max_active_keeps_an_optimum(cap: int) -> None:
    """Restricted to the allowed parts, the result is SparseMAP over these parts."""
    scores = 0.1 * draw_scores("normal", 4, (8,), seed=0)
    post = sp.sparsemap(scores, Choice(), max_active=cap)
    assert post.sizes.max() <= cap
    assert not post.converged.any()
    kept = post.expect(Choice().indicator(post.structures, (8,))) > 0
    alone = sparsemax(scores.masked_fill(~kept, -1e3))
    torch.testing.assert_close(post.marginals, alone, rtol=0, atol=1e-9)


@pytest.mark.parametrize("trees", FAMILIES, ids=str)
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_native_agrees(trees: sp.DependencyTrees, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 9))
    kind = data.draw(st.sampled_from(KINDS))
    scores = draw_scores(kind, 3, (n, n + 1), data.draw(st.integers(0, 2**32 - 1)))
    scores[..., 0] = scores[..., 0].nan_to_num(neginf=0.0)  # so that a tree is left:
    for i in range(1, n):  # the chain, whose words have their left neighbours as heads
        scores[:, i, i] = scores[:, i, i].nan_to_num(neginf=0.0)
    lengths = torch.tensor(data.draw(st.lists(st.integers(1, n), min_size=3, max_size=3)))
    temperature = torch.tensor([1.0, 0.5, 2.0], dtype=torch.float64)

    ours, reference = [
        sp.sparsemap(scores, trees, lengths=lengths, temperature=temperature, solver=solver)
        for solver in ("native", "generic")
    ]
    scale = 1e6 if kind == "large" else 1.0
    if kind != "small":  # of which a billionth is less than rounding
        assert ours.converged.all()
        assert reference.converged.all()
    assert (ours.gap <= 1e-9 * scale).all()
    torch.testing.assert_close(ours.marginals, reference.marginals, rtol=0, atol=1e-9)


@pytest.mark.parametrize("trees", FAMILIES, ids=str)
@settings(deadline=None, max_examples=15)
@given(n=st.integers(1, 9), seed=st.integers(0, 2**32 - 1), forbidden=st.booleans())
def test_native_derivatives_agree(
    trees: sp.DependencyTrees, n: int, seed: int, forbidden: bool
) -> None:
    scores = draw_scores("normal", 3, (n, n + 1), seed)
    if forbidden:
        scores[:, n // 2, 1:] = -torch.inf
        scores[:, : n // 2, 0] = scores[:, n // 2 + 1 :, 0] = -10.0
    scores.requires_grad_()
    temperature = torch.full((3,), 0.8, dtype=torch.float64, requires_grad=True)
    direction = draw_scores("normal", 3, (n, n + 1), seed + 1)
    gradients = []
    for solver in ("native", "generic"):
        post = sp.sparsemap(scores, trees, temperature=temperature, solver=solver)
        loss = (post.marginals * direction).sum()
        gradients.append(torch.autograd.grad(loss, (scores, temperature)))
    for ours, reference in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, reference, rtol=0, atol=1e-9)


@pytest.mark.parametrize("trees", FAMILIES, ids=str)
@pytest.mark.parametrize(("n", "scale"), [(9, 1e-6), (30, 1.0)])
def test_no_structure_of_tiny_weight_is_missing(
    trees: sp.DependencyTrees, n: int, scale: float
) -> None:
    """The gap closes before the support is complete, so an early stop distorts the gradient."""
    scores = (scale * draw_scores("normal", 2, (n, n + 1), seed=n)).requires_grad_()
    direction = draw_scores("normal", 2, (n, n + 1), seed=7)
    ours, reference = [sp.sparsemap(scores, trees, solver=name) for name in ("native", "generic")]
    assert torch.equal(ours.sizes, reference.sizes)
    gradients = [
        torch.autograd.grad((post.marginals * direction).sum(), scores)[0]
        for post in (ours, reference)
    ]
    torch.testing.assert_close(gradients[0], gradients[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e6])
def test_converged_is_relative_to_the_range(scale: float) -> None:
    """If rounding prevents the requested gap, `converged` is False."""
    scores = scale * draw_scores("normal", 12, (6, 7), seed=0)
    reads = TREES.reads(scores)
    spread = [
        float(table[used].max() - table[used].min())
        for table, used in zip(scores, reads, strict=True)
    ]
    for tol in (1e-3, 1e-9):
        post = sp.sparsemap(scores, TREES, tol=tol, solver="generic")
        promise = tol * torch.tensor(spread, dtype=torch.float64)
        assert (post.gap <= promise)[post.converged].all()
        assert post.converged.all() or tol * scale < 1e-13
    if scale < 1e-9:
        assert not post.converged.any()


def test_equal_scores_have_the_range_one() -> None:
    scores = torch.full((2, 4, 5), 0.3, dtype=torch.float64)
    post = sp.sparsemap(scores, TREES, solver="generic")
    assert post.converged.all()
    assert (post.gap <= 1e-9).all()


BITS = {
    "trees": (TREES, (5, 6)),
    "single root": (sp.DependencyTrees(single_root=True), (5, 6)),
    "chain": (sp.LinearChain(), (4, 3, 4)),
    "matching": (sp.Matching(), (4, 4)),
    "subset": (sp.Subset(2), (7,)),
    "choice": (Choice(), (9,)),
}


@pytest.mark.parametrize("name", BITS)
def test_bits_do_not_depend_on_the_batch(name: str) -> None:
    structure, shape = BITS[name]
    scores = draw_scores("normal", 100, shape, seed=0)
    weight = draw_scores("normal", 100, shape, seed=1)

    def answer(rows: slice) -> list[tuple[Tensor, ...]]:
        leaf = scores[rows].requires_grad_()
        post = sp.sparsemap(leaf, structure, solver="generic")
        (slope,) = torch.autograd.grad((post.marginals * weight[rows]).sum(), leaf)
        return [
            (one.structures, one.weights, one.marginals[0], one.gap[0], slope[i])
            for i, one in enumerate(post)
        ]

    together = answer(slice(None))
    in_parts = [one for start in range(0, 100, 7) for one in answer(slice(start, start + 7))]
    alone = [answer(slice(i, i + 1))[0] for i in range(100)]
    for bits in zip(together, in_parts, alone, strict=True):
        for a, b, c in zip(*bits, strict=True):
            assert torch.equal(a, b)
            assert torch.equal(a, c)
