"""The structured perceptron, against the best of all structures."""

from types import SimpleNamespace

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sparsewood as sp


@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32 - 2), kind=st.sampled_from(["normal", "integers", "large"]))
def test_equals_the_best_score_less_that_of_gold(
    family: SimpleNamespace, seed: int, kind: str
) -> None:
    scores, gold = family.draw(3, seed, kind), family.gold(3, seed + 1)
    of_gold = torch.where(family.indicator(gold).bool(), scores, 0).flatten(1).sum(-1)
    expected = family.totals(scores).amax(-1) - of_gold
    found = sp.perceptron_loss(scores, gold, family.structure, reduction="none")
    torch.testing.assert_close(found, expected)


def test_subgradient_is_the_difference_of_the_indicators(family: SimpleNamespace) -> None:
    scores, gold = family.draw(4, seed=0).requires_grad_(), family.gold(4, seed=1)
    loss = sp.perceptron_loss(scores, gold, family.structure, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, scores)
    best = family.structure.argmax(scores)
    assert torch.equal(gradient, family.indicator(best) - family.indicator(gold))
    assert torch.autograd.gradcheck(
        lambda theta: sp.perceptron_loss(theta, gold, family.structure),
        scores.detach().nan_to_num(0.0).requires_grad_(),
    )


def test_no_loss_and_no_gradient_where_gold_is_best(family: SimpleNamespace) -> None:
    scores = family.draw(4, seed=0).requires_grad_()
    gold = family.structure.argmax(scores)
    loss = sp.perceptron_loss(scores, gold, family.structure)
    assert loss.item() == 0
    assert not torch.autograd.grad(loss, scores)[0].any()
