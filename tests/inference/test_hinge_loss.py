"""The structured hinge loss, in addition to the conformance kit."""

import torch

import sparsewood as sp

GOLD = torch.tensor([[0, 1, 2], [2, 0, 2]])


def test_the_margin_is_asked_for_each_part() -> None:
    scores = 2 * sp.DependencyTrees().indicator(GOLD) - 1  # an arc that is not in gold costs 2
    assert sp.hinge_loss(scores, GOLD, sp.DependencyTrees(), margin=2.0).item() == 0
    for margin in (3.0, 4.5):  # all three arcs of the worst tree are wrong
        each = sp.hinge_loss(scores, GOLD, sp.DependencyTrees(), margin=margin, reduction="none")
        assert each.tolist() == [3 * (margin - 2)] * 2
