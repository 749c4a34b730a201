"""The Fenchel-Young loss of SparseMAP."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import spinney as sp
from spinney.testing import draw_scores

TREES = sp.DependencyTrees()


def some_trees(batch: int, n: int, seed: int) -> torch.Tensor:
    return TREES.argmax(draw_scores("normal", batch, (n, n + 1), seed))


@settings(deadline=None, max_examples=30)
@given(n=st.integers(1, 8), seed=st.integers(0, 2**32 - 1), margin=st.sampled_from([0.0, 0.5, 3.0]))
def test_gradient_is_marginals_minus_gold(n: int, seed: int, margin: float) -> None:
    scores = draw_scores("normal", 3, (n, n + 1), seed).requires_grad_()
    gold = some_trees(3, n, seed + 1)
    target = TREES.indicator(gold)
    loss = sp.sparsemap_loss(scores, gold, TREES, margin=margin, reduction="sum")
    assert loss.item() >= -1e-12
    (gradient,) = torch.autograd.grad(loss, scores)
    marginals = sp.sparsemap(scores + margin * (1 - target), TREES).marginals
    torch.testing.assert_close(gradient, marginals.detach() - target, rtol=0, atol=1e-11)


def test_derivatives() -> None:
    scores = draw_scores("normal", 2, (4, 5), seed=0).requires_grad_()
    gold = some_trees(2, 4, seed=1)
    for margin in (0.0, 1.0):

        def loss(scores: torch.Tensor, margin: float = margin) -> torch.Tensor:
            return sp.sparsemap_loss(scores, gold, TREES, margin=margin, reduction="none")

        assert torch.autograd.gradcheck(loss, scores)
        assert torch.autograd.gradgradcheck(loss, scores)


def test_zero_when_the_gold_tree_wins_by_far() -> None:
    gold = some_trees(2, 4, seed=1)
    scores = 10 * TREES.indicator(gold)
    assert sp.sparsemap_loss(scores, gold, TREES).item() == pytest.approx(0.0, abs=1e-12)
    assert sp.sparsemap_loss(scores, gold, TREES, margin=2.0).item() == pytest.approx(0, abs=1e-12)
    assert sp.sparsemap_loss(scores, gold, TREES, margin=20.0).item() > 1


def test_reductions_and_dtype() -> None:
    scores, gold = draw_scores("normal", 3, (4, 5), seed=0).float(), some_trees(3, 4, seed=1)
    each = sp.sparsemap_loss(scores, gold, TREES, reduction="none")
    assert each.shape == (3,)
    assert each.dtype == torch.float32
    torch.testing.assert_close(sp.sparsemap_loss(scores, gold, TREES), each.mean())
    total = sp.sparsemap_loss(scores, gold, TREES, reduction="sum")
    torch.testing.assert_close(total, each.sum())


def test_padding_and_forbidden_arcs_have_no_gradient() -> None:
    lengths = torch.tensor([4, 2])
    gold = torch.tensor([[0, 1, 2, 3], [0, 1, -1, -1]])
    scores = draw_scores("normal", 2, (4, 5), seed=0)
    forbidden = torch.zeros_like(scores, dtype=torch.bool)
    forbidden[0, 3, 1] = True
    scores = scores.masked_fill(~TREES.reads(scores, lengths), torch.nan)
    scores = scores.masked_fill(forbidden, -torch.inf).requires_grad_()
    for margin in (0.0, 1.0):
        loss = sp.sparsemap_loss(scores, gold, TREES, lengths=lengths, margin=margin)
        (gradient,) = torch.autograd.grad(loss, scores)
        assert loss.isfinite()
        assert gradient.isfinite().all()
        assert (gradient[~TREES.reads(scores, lengths) | forbidden] == 0).all()


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ([[0, 1, 2], [2, 1, 0]], r"gold\[1\] is not one of"),  # a cycle
        ([[0, 1, 2], [0, 1, 9]], r"gold\[1\] is not one of"),
        ([[0, 1, 2]], "each of the 2 instances"),
        ([[0, 1], [0, 1]], "does not fit"),
        ([[0, 1, 2], [0, 1, 1]], r"gold\[1\] uses a part that is forbidden"),
    ],
)
def test_bad_gold(gold: list[list[int]], message: str) -> None:
    scores = torch.zeros(2, 3, 4)
    scores[1, 2, 1] = -torch.inf
    with pytest.raises(ValueError, match=message):
        sp.sparsemap_loss(scores, torch.tensor(gold), TREES)


def test_gold_obeys_the_options_of_the_family() -> None:
    scores, gold = torch.zeros(1, 3, 4), torch.tensor([[0, 0, 2]])
    assert sp.sparsemap_loss(scores, gold, TREES) >= 0
    with pytest.raises(ValueError, match=r"gold\[0\]"):
        sp.sparsemap_loss(scores, gold, sp.DependencyTrees(single_root=True))


@pytest.mark.parametrize(
    ("options", "message"), [({"reduction": "max"}, "reduction"), ({"margin": -1.0}, "margin")]
)
def test_bad_options(options, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.sparsemap_loss(torch.zeros(1, 1, 2), torch.zeros(1, 1).long(), TREES, **options)
