"""The Fenchel-Young loss of SparseMAP, in addition to the conformance kit."""

from typing import Any

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import draw_scores


@pytest.mark.parametrize("size", [4.958e8, 1e17])
@pytest.mark.parametrize("solver_of", ["structure", "graph"])
def test_large_scores_take_nothing_from_the_gradient(size: float, solver_of: str) -> None:
    """Three equal options, each with a third of the probability."""
    scores = torch.full((1, 3), size, dtype=torch.float64).requires_grad_()
    gold = torch.tensor([0])
    structure: Any = sp.Simplex()
    if solver_of == "graph":
        structure, gold = sp.FactorGraph(), torch.tensor([[1, 0, 0]])
        structure.add(sp.Xor(), structure.variables(3))
    loss = sp.sparsemap_loss(scores, gold, structure)
    (gradient,) = torch.autograd.grad(loss, scores, create_graph=True)
    third = 1 / 3
    torch.testing.assert_close(gradient, gradient.new_tensor([[-2 * third, third, third]]))
    (second,) = torch.autograd.grad(gradient[0, 0], scores)
    torch.testing.assert_close(second, second.new_tensor([[2 * third, -third, -third]]))


@pytest.mark.parametrize("score", [1e17, 1e100 / 3])
def test_the_loss_of_the_only_structure_is_zero(score: float) -> None:
    scores = torch.full((1, 3), score, dtype=torch.float64).requires_grad_()
    loss = sp.sparsemap_loss(scores, torch.tensor([[1, 1, 1]]), sp.Subset(3))
    (gradient,) = torch.autograd.grad(loss, scores)
    assert loss.item() == 0
    assert (gradient == 0).all()


def test_capped_support() -> None:
    trees, scores = sp.DependencyTrees(), torch.zeros(1, 6, 7, dtype=torch.float64).requires_grad_()
    gold = torch.tensor([[0, 1, 2, 3, 4, 5]])
    loss = sp.sparsemap_loss(scores, gold, trees, max_active=3)
    (gradient,) = torch.autograd.grad(loss, scores)
    capped = sp.sparsemap(scores.detach(), trees, max_active=3)
    assert not capped.converged
    torch.testing.assert_close(gradient, capped.marginals - trees.indicator(gold, (6, 7)))
    assert loss < sp.sparsemap_loss(scores, gold, trees)


def _matching_with_a_budget() -> sp.FactorGraph:
    """Matchings of three rows in which the first column and the diagonal are used at most once."""
    graph = sp.FactorGraph()
    x = graph.variables(3, 3)
    graph.add(sp.Matching(partial=True), x)
    graph.add(sp.AtMostOne(), x.diagonal())
    return graph


GOLD = torch.tensor([[[0, 1, 0], [1, 0, 0], [0, 0, 1]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]]])


def test_of_one_factor_it_is_that_of_the_structure() -> None:
    graph = sp.FactorGraph()
    graph.add(sp.Matching(), graph.variables(3, 3))
    scores = draw_scores("normal", 2, (3, 3), seed=0)
    columns = torch.tensor([[1, 0, 2], [2, 1, 0]])
    gold = sp.Matching().indicator(columns, (3, 3)).long()
    for margin in (0.0, 1.0):
        found = sp.sparsemap_loss(scores, gold, graph, margin=margin, reduction="none")
        expected = sp.sparsemap_loss(
            scores, columns, sp.Matching(), margin=margin, reduction="none"
        )
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


def test_gradient_over_a_factor_graph() -> None:
    graph = _matching_with_a_budget()
    scores = draw_scores("normal", 2, (3, 3), seed=1).requires_grad_()
    loss = sp.sparsemap_loss(scores, GOLD, graph, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, scores)
    u = sp.lp_sparsemap(scores.detach(), graph).marginals
    torch.testing.assert_close(gradient, u - GOLD, rtol=0, atol=1e-9)
    value = ((u - GOLD) * scores.detach() - (u**2 - GOLD) / 2).flatten(1).sum(-1)
    torch.testing.assert_close(sp.sparsemap_loss(scores, GOLD, graph, reduction="none"), value)

    def infer(scores: torch.Tensor) -> torch.Tensor:
        return sp.sparsemap_loss(scores, GOLD, graph, margin=0.5, reduction="none")

    assert torch.autograd.gradcheck(infer, scores)
    assert torch.autograd.gradgradcheck(infer, scores)


def test_loss_over_a_factor_graph_is_zero_where_it_should_be() -> None:
    graph = _matching_with_a_budget()
    flat = (2.0 * GOLD - 1).flatten(1)
    module = sp.nn.SparseMAPLoss(graph, margin=0.5)
    assert module(flat, GOLD.flatten(1)).item() == pytest.approx(0, abs=1e-9)
    assert (sp.sparsemap_loss(flat, GOLD.flip(0).flatten(1), graph, reduction="none") > 0.5).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gold": GOLD.double()}, r"gold: expected integers of the shape of scores, \(2, 3, 3\)"),
        ({"gold": GOLD[:, 0]}, r"torch.int64 of shape \(2, 3\)"),
        ({"gold": 2 * GOLD}, r"gold\[0\] is not one of FactorGraph"),
        ({"gold": torch.eye(3).long().expand(2, 3, 3)}, r"gold\[0\] is not one of"),  # the budget
        ({"gold": GOLD.roll(1, 1) | GOLD}, r"gold\[0\] is not one of"),  # no matching
        ({"lengths": torch.tensor([3, 3])}, "lengths: expected None for a factor graph"),
        ({"max_active": 3}, "max_active: expected None for a factor graph"),
        ({"scores": torch.full((2, 3, 3), -torch.inf)}, r"gold\[0\] uses a part that is forbidden"),
        ({"scores": torch.full((2, 3, 3), torch.nan)}, r"scores\[0, 0, 0\] is nan"),
        ({"scores": torch.zeros(2, 4)}, r"scores: expected \(\*batch, 9\)"),
    ],
)
def test_what_a_factor_graph_refuses(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"scores": torch.zeros(2, 3, 3), "gold": GOLD, **change}
    with pytest.raises(ValueError, match=message):
        sp.sparsemap_loss(structure=_matching_with_a_budget(), **given)
