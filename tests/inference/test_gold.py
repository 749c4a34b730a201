"""What all supervised losses have in common, and what they all refuse."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import draw_scores

TREES = sp.DependencyTrees()
Loss = Callable[..., Tensor]
Case = tuple[SimpleNamespace, Loss]

_settings = settings(
    deadline=None,
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # a family is never changed
)


@_settings
@given(seed=st.integers(0, 2**32 - 2), share=st.floats(0, 1))
def test_convex_and_at_least_zero(case: Case, seed: int, share: float) -> None:
    family, loss = case
    a, b, gold = family.draw(3, seed), family.draw(3, seed + 1), family.gold(3, seed)
    between, left, right = (
        loss(theta, gold, family.structure, reduction="none")
        for theta in (share * a + (1 - share) * b, a, b)
    )
    assert (left >= -1e-10).all()
    assert (between <= share * left + (1 - share) * right + 1e-9).all()


def test_vanishes_where_the_gold_structure_wins_by_far(case: Case) -> None:
    family, loss = case
    gold = family.gold(3, seed=0)
    scores = 50 * (2 * family.indicator(gold) - 1)
    assert loss(scores, gold, family.structure).item() == pytest.approx(0, abs=1e-9)
    assert loss(-scores, gold, family.structure).item() > 1


def test_descent_finds_the_gold_structure(case: Case) -> None:
    family, loss = case
    scores, gold = family.draw(3, seed=0).nan_to_num(0.0), family.gold(3, seed=1)
    for _ in range(60):
        scores = scores.detach().requires_grad_()
        (slope,) = torch.autograd.grad(
            loss(scores, gold, family.structure, reduction="sum"), scores
        )
        scores = scores - 0.5 * slope
    assert torch.equal(family.structure.argmax(scores), gold)


def test_reductions_and_dtype(case: Case) -> None:
    family, loss = case
    scores, gold = family.draw(3, seed=0).float(), family.gold(3, seed=1)
    before = scores.clone()
    each = loss(scores, gold, family.structure, reduction="none")
    assert each.shape == (3,)
    assert each.dtype == torch.float32
    torch.testing.assert_close(loss(scores, gold, family.structure), each.mean())
    torch.testing.assert_close(loss(scores, gold, family.structure, reduction="sum"), each.sum())
    torch.testing.assert_close(scores, before, rtol=0, atol=0, equal_nan=True)


def test_padding_and_forbidden_parts_have_no_gradient(loss: Loss) -> None:
    lengths = torch.tensor([4, 2])
    gold = torch.tensor([[0, 1, 2, 3], [0, 1, -1, -1]])
    scores = draw_scores("normal", 2, (4, 5), seed=0)
    forbidden = torch.zeros_like(scores, dtype=torch.bool)
    forbidden[0, 3, 1] = True
    unread = ~TREES.reads(scores, lengths)
    scores = scores.masked_fill(unread, torch.nan).masked_fill(forbidden, -torch.inf)
    scores.requires_grad_()
    value = loss(scores, gold, TREES, lengths=lengths, reduction="none")
    (gradient,) = torch.autograd.grad(value.sum(), scores)
    assert value.isfinite().all()
    assert gradient.isfinite().all()
    assert (gradient[unread | forbidden] == 0).all()
    alone = loss(scores[1:, :2, :3], gold[1:, :2], TREES, reduction="none")
    torch.testing.assert_close(value[1:], alone)


def test_no_instances(loss: Loss) -> None:
    empty = torch.zeros(0, 3, 4), torch.zeros(0, 3, dtype=torch.int64)
    assert loss(*empty, TREES, reduction="sum").item() == 0


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
def test_bad_gold(loss: Loss, gold: list[list[int]], message: str) -> None:
    scores = torch.zeros(2, 3, 4)
    scores[1, 2, 1] = -torch.inf
    with pytest.raises(ValueError, match=message):
        loss(scores, torch.tensor(gold), TREES)


def test_gold_of_states_that_the_scores_do_not_have(loss: Loss) -> None:
    chain, gold = sp.LinearChain(), torch.tensor([[0, 1], [0, 3]])
    with pytest.raises(ValueError, match=r"gold\[1\] is not one of .*\[0, 3\]"):
        loss(torch.zeros(2, 2, 3, 4), gold, chain)


def test_gold_obeys_the_options_of_the_family(loss: Loss) -> None:
    scores, gold = torch.zeros(1, 3, 4), torch.tensor([[0, 0, 2]])
    assert loss(scores, gold, TREES) >= 0
    with pytest.raises(ValueError, match=r"gold\[0\]"):
        loss(scores, gold, sp.DependencyTrees(single_root=True))


def test_bad_scores(loss: Loss) -> None:
    gold = torch.tensor([[0, 1]])
    with pytest.raises(ValueError, match="floating"):
        loss(torch.zeros(1, 2, 3).long(), gold, TREES)
    for value in (torch.nan, torch.inf):
        scores = torch.zeros(1, 2, 3)
        scores[0, 1, 0] = value
        with pytest.raises(ValueError, match=r"scores\[0, 1, 0\] is"):
            loss(scores, gold, TREES)
    with pytest.raises(ValueError, match="lengths"):
        loss(torch.zeros(1, 2, 3), gold, TREES, lengths=torch.tensor([3]))


def test_bad_options(loss: Loss) -> None:
    instance = torch.zeros(1, 1, 2), torch.zeros(1, 1).long(), TREES
    with pytest.raises(ValueError, match="reduction must be"):
        loss(*instance, reduction="max")
    if loss in (sp.hinge_loss, sp.sparsemap_loss):
        for margin in (-1.0, float("nan"), float("inf")):
            with pytest.raises(ValueError, match="margin must be"):
                loss(*instance, margin=margin)
