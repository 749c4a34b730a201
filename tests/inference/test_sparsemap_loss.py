"""The Fenchel-Young loss of SparseMAP."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sparsewood as sp
from sparsewood.testing import draw_scores


@settings(
    deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32 - 2), margin=st.sampled_from([0.0, 0.5, 3.0]))
def test_gradient_is_marginals_minus_gold(
    family: SimpleNamespace, seed: int, margin: float
) -> None:
    scores, gold = family.draw(3, seed).requires_grad_(), family.gold(3, seed + 1)
    target = family.indicator(gold)
    loss = sp.sparsemap_loss(scores, gold, family.structure, margin=margin, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, scores)
    augmented = scores.detach() + margin * (1 - target)
    marginals = sp.sparsemap(augmented, family.structure).marginals
    torch.testing.assert_close(gradient, marginals - target, rtol=0, atol=1e-10)


def test_value_is_that_of_the_formula(family: SimpleNamespace) -> None:
    """The penalty counts the parts that the family penalises, and no others."""
    scores, gold = family.draw(3, seed=0), family.gold(3, seed=1)
    target = family.indicator(gold)
    u = sp.sparsemap(scores, family.structure).marginals
    counted = family.structure.penalised(scores)
    if counted is None:
        counted = torch.ones(family.shape, dtype=torch.bool)
    theta = torch.where(family.structure.reads(scores), scores, 0)
    value = ((u - target) * theta - counted * (u**2 - target**2) / 2).flatten(1).sum(-1)
    found = sp.sparsemap_loss(scores, gold, family.structure, reduction="none")
    torch.testing.assert_close(found, value)


def test_derivatives(family: SimpleNamespace) -> None:
    scores, gold = family.draw(2, seed=0).nan_to_num(0.0).requires_grad_(), family.gold(2, seed=1)
    for margin in (0.0, 1.0):

        def loss(scores: torch.Tensor, margin: float = margin) -> torch.Tensor:
            return sp.sparsemap_loss(
                scores, gold, family.structure, margin=margin, reduction="none"
            )

        assert torch.autograd.gradcheck(loss, scores)
        assert torch.autograd.gradgradcheck(loss, scores, fast_mode=True)


def test_zero_when_the_gold_tree_wins_by_the_margin() -> None:
    trees = sp.DependencyTrees()
    gold = trees.argmax(draw_scores("normal", 2, (4, 5), seed=1))
    scores = 10 * trees.indicator(gold, (4, 5))
    for margin in (0.0, 2.0):
        loss = sp.sparsemap_loss(scores, gold, trees, margin=margin)
        assert loss.item() == pytest.approx(0, abs=1e-12)
    assert sp.sparsemap_loss(scores, gold, trees, margin=20.0).item() > 1


def test_capped_support() -> None:
    trees, scores = sp.DependencyTrees(), torch.zeros(1, 6, 7, dtype=torch.float64).requires_grad_()
    gold = torch.tensor([[0, 1, 2, 3, 4, 5]])
    loss = sp.sparsemap_loss(scores, gold, trees, max_active=3)
    (gradient,) = torch.autograd.grad(loss, scores)
    capped = sp.sparsemap(scores.detach(), trees, max_active=3)
    assert not capped.converged
    torch.testing.assert_close(gradient, capped.marginals - trees.indicator(gold, (6, 7)))
    assert loss < sp.sparsemap_loss(scores, gold, trees)
