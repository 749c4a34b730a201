"""`map` and the losses as one compiled graph: the same results, gradients and errors."""

from collections.abc import Callable
from typing import TypeVar

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import sparsewood as sp
from sparsewood.inference._checked import _members_op, _parts_op, _scores_op, _totals_op
from sparsewood.inference.map import Best
from sparsewood.structures._oracle import find_op
from tests.families import FAMILIES, Family, batch_of
from tests.full import some_quick

Answer = TypeVar("Answer")
Loss = Callable[..., Tensor]
LOSSES: dict[str, Loss] = {
    "sparsemap": sp.sparsemap_loss,
    "crf": sp.crf_loss,
    "hinge": sp.hinge_loss,
    "perceptron": sp.perceptron_loss,
}
NO_SUM = ("matching", "partial-matching", "transport", "bounded-transport")
KINDS = ("trees", "chain", "segments", "alignment", "subset", "spanning")
PAIRS = [(name, kind) for kind in KINDS for name in LOSSES]
every_loss = pytest.mark.parametrize("name", LOSSES)


def one_graph(call: Callable[..., Answer]) -> Callable[..., Answer]:
    torch.compiler.reset()
    return torch.compile(call, fullgraph=True, backend="aot_eager")


def learnable(family: Family) -> tuple[Tensor, Tensor, Tensor]:
    """Scores (4, *parts) with gradient, lengths, and suboptimal gold structures."""
    scores, lengths = (table[:4] for table in batch_of(family))
    gold = family.structure.argmax(torch.where(scores.isfinite(), -scores, scores), lengths)
    return scores.clone().requires_grad_(), lengths, gold


@pytest.mark.parametrize(("name", "kind"), some_quick(PAIRS, *zip(LOSSES, KINDS, strict=False)))
def test_losses_are_one_graph(name: str, kind: str) -> None:
    structure = FAMILIES[kind].structure
    scores, lengths, gold = learnable(FAMILIES[kind])

    def loss(scores: Tensor, gold: Tensor, lengths: Tensor) -> Tensor:
        return LOSSES[name](scores, gold, structure, lengths=lengths, reduction="sum")

    found, expected = (call(scores, gold, lengths) for call in (one_graph(loss), loss))
    assert_close(found, expected)
    assert expected > 0
    ours, theirs = (torch.autograd.grad(value, scores)[0] for value in (found, expected))
    assert_close(ours, theirs, equal_nan=True)


@pytest.mark.parametrize("kind", some_quick(kind for kind in FAMILIES if kind not in NO_SUM))
def test_the_modules_are_one_graph(kind: str) -> None:
    scores, lengths, gold = learnable(FAMILIES[kind])
    loss = sp.nn.CRFLoss(FAMILIES[kind].structure)
    assert_close(one_graph(loss)(scores, gold, lengths), loss(scores, gold, lengths))


@pytest.mark.parametrize("kind", some_quick(FAMILIES, "trees", "matching"))
def test_map_is_one_graph(kind: str) -> None:
    structure = FAMILIES[kind].structure
    scores, lengths = batch_of(FAMILIES[kind])

    def call(scores: Tensor, lengths: Tensor) -> Best:
        return sp.map(scores, structure, lengths=lengths)

    answers = one_graph(call)(scores, lengths), call(scores, lengths)
    for found, expected in zip(*answers, strict=True):
        assert torch.equal(found, expected)


@pytest.mark.parametrize("name", some_quick(LOSSES))
def test_a_graph_names_bad_values(name: str) -> None:
    trees = sp.DependencyTrees()

    def loss(scores: Tensor, gold: Tensor) -> Tensor:
        return LOSSES[name](scores, gold, trees)

    compiled = one_graph(loss)
    scores, gold = torch.zeros(1, 2, 2, 3), torch.tensor([[[0, 1], [2, 0]]])
    compiled(scores, gold)
    for value, message in (
        (torch.nan, r"scores\[0, 1, 1, 0\] is nan \(instance \(0, 1\)"),
        (-torch.inf, r"gold\[0, 1\] uses a part that is forbidden \(-inf\): \[2, 0\]"),
    ):
        bad = scores.clone()
        bad[0, 1, 1, 0] = value
        with pytest.raises(ValueError, match=message):
            compiled(bad, gold)
    with pytest.raises(ValueError, match=r"gold\[0, 0\] is not one of DependencyTrees"):
        compiled(scores, torch.tensor([[[2, 1], [2, 0]]]))


def test_a_graph_of_map_names_bad_values() -> None:
    compiled = one_graph(lambda scores: sp.map(scores, sp.DependencyTrees()).scores)
    for value, message in (
        (torch.nan, r"scores\[0, 1, 1, 0\] is nan"),
        (-torch.inf, r"instance \(0, 1\) has no structure left"),
    ):
        bad = torch.zeros(1, 2, 2, 3)
        bad[0, 1, :, :] = value
        bad[0, 1, 0] = 0.0
        with pytest.raises(ValueError, match=message):
            compiled(bad)


def test_the_checks_are_operators() -> None:
    scores, reads = torch.zeros(2, 2, 3), torch.ones(2, 2, 3, dtype=torch.bool)
    gold, member = torch.tensor([[0, 1], [2, 0]]), torch.ones(2, dtype=torch.bool)
    parts = sp.DependencyTrees().indicator(gold)
    torch.library.opcheck(_scores_op, (scores, reads, [2]))
    torch.library.opcheck(_totals_op, (torch.zeros(2), scores, [2]))
    torch.library.opcheck(_members_op, (gold, member, scores, "trees", [2]))
    torch.library.opcheck(_parts_op, (parts, gold, scores, [2]))


def test_the_oracle_is_an_operator() -> None:
    scores, lengths = torch.zeros(2, 2, 3), torch.tensor([[2], [1]])
    torch.library.opcheck(find_op, (scores, [2], lengths, [2], "trees", [0, 0], [2]))
    torch.library.opcheck(find_op, (scores, [2], None, [2], "trees", [0, 0], [2]))
