"""The structured hinge, against the best of all structures with its cost."""

from types import SimpleNamespace

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sparsewood as sp


@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32 - 2), margin=st.floats(0, 5))
def test_equals_the_best_augmented_score_less_that_of_gold(
    family: SimpleNamespace, seed: int, margin: float
) -> None:
    scores, gold = family.draw(3, seed), family.gold(3, seed + 1)
    target = family.indicator(gold)
    cost = torch.einsum("b...,c...->bc", 1 - target, family.columns)  # parts not in gold
    of_gold = torch.where(target.bool(), scores, 0).flatten(1).sum(-1)
    expected = (family.totals(scores) + margin * cost).amax(-1) - of_gold
    found = sp.hinge_loss(scores, gold, family.structure, margin=margin, reduction="none")
    torch.testing.assert_close(found, expected)


def test_subgradient_is_the_difference_of_the_indicators(family: SimpleNamespace) -> None:
    scores, gold = family.draw(4, seed=0).requires_grad_(), family.gold(4, seed=1)
    target = family.indicator(gold)
    loss = sp.hinge_loss(scores, gold, family.structure, margin=0.7, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, scores)
    best = family.structure.argmax(scores.detach() + 0.7 * (1 - target))
    assert torch.equal(gradient, family.indicator(best) - target)
    assert torch.autograd.gradcheck(
        lambda theta: sp.hinge_loss(theta, gold, family.structure, margin=0.7),
        scores.detach().nan_to_num(0.0).requires_grad_(),
    )


def test_the_margin_is_asked_for_each_part(family: SimpleNamespace) -> None:
    gold = family.gold(3, seed=0)
    scores = 2 * family.indicator(gold) - 1  # a part that is not in gold costs 1, at least
    far = sp.hinge_loss(3 * scores, gold, family.structure, margin=0.5)
    near = sp.hinge_loss(scores, gold, family.structure, margin=4.0)
    assert far.item() == 0
    assert near.item() > 0
