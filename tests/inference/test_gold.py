"""Common behaviour and errors of all supervised losses."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import draw_scores

TREES = sp.DependencyTrees()
Loss = Callable[..., Tensor]


def test_descent_finds_the_gold_structure(loss: Loss) -> None:
    scores = draw_scores("normal", 3, (3, 4), seed=0)
    gold = TREES.argmax(draw_scores("normal", 3, (3, 4), seed=1))
    for _ in range(60):
        scores = scores.detach().requires_grad_()
        (slope,) = torch.autograd.grad(loss(scores, gold, TREES, reduction="sum"), scores)
        scores = scores - 0.5 * slope
    assert torch.equal(TREES.argmax(scores), gold)


def test_reductions_and_dtype(loss: Loss) -> None:
    scores = draw_scores("normal", 3, (3, 4), seed=0).float()
    gold, before = TREES.argmax(-scores), scores.clone()
    each = loss(scores, gold, TREES, reduction="none")
    assert each.shape == (3,)
    assert each.dtype == torch.float32
    torch.testing.assert_close(loss(scores, gold, TREES), each.mean())
    torch.testing.assert_close(loss(scores, gold, TREES, reduction="sum"), each.sum())
    assert torch.equal(scores, before)


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
        ([[0, 1, 2]], "expected 2 structures"),
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
