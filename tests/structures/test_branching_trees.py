"""Trees that do not depend on the scores."""

from typing import Any

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import MarginalsConformance, StructureConformance


class BranchingConformance(StructureConformance, MarginalsConformance):
    has_lengths = True
    sizes = (1, 3)

    @staticmethod
    def shape(n: int) -> tuple[int, ...]:
        return (n, n + 1)


class TestFlat(BranchingConformance):
    structure = sp.BranchingTrees("flat")


class TestLeft(BranchingConformance):
    structure = sp.BranchingTrees("left_to_right")


class TestRight(BranchingConformance):
    structure = sp.BranchingTrees("right_to_left")


@pytest.mark.parametrize(
    ("kind", "heads"),
    [
        ("flat", [[0, 0, 0, 0], [0, 0, -1, -1], [0, -1, -1, -1]]),
        ("left_to_right", [[2, 3, 4, 0], [2, 0, -1, -1], [0, -1, -1, -1]]),
        ("right_to_left", [[0, 1, 2, 3], [0, 1, -1, -1], [0, -1, -1, -1]]),
    ],
)
def test_the_one_tree(kind: Any, heads: list[list[int]]) -> None:
    trees, lengths = sp.BranchingTrees(kind), torch.tensor([4, 2, 1])
    best = trees.argmax(torch.randn(3, 4, 5), lengths)
    assert best.tolist() == heads
    assert trees.contains(best, lengths).all()
    assert not trees.contains(best.roll(1, 0), lengths).all()
    assert sp.DependencyTrees(projective=True).contains(best, lengths).all()
    assert trees.count(100) == 1


@pytest.mark.parametrize("kind", ["flat", "left_to_right", "right_to_left"])
def test_a_forbidden_arc_leaves_no_tree(kind: Any) -> None:
    trees, scores = sp.BranchingTrees(kind), torch.zeros(3, 4, 5)
    (heads,) = trees.enumerate(4)
    scores[1] = scores[1].masked_fill(~trees.indicator(heads).bool(), -torch.inf)
    scores[2, 3, heads[3]] = -torch.inf
    with pytest.raises(ValueError, match="instance 2 has no structure left"):
        trees.argmax(scores)
    assert torch.equal(trees.argmax(scores[:2]), trees.enumerate(4).expand(2, -1))


def test_what_is_no_kind_or_size() -> None:
    wrong: Any = "up"
    with pytest.raises(ValueError, match="flat, left_to_right, right_to_left; got 'up'"):
        sp.BranchingTrees(wrong)
    with pytest.raises(ValueError, match="n = 0"):
        sp.BranchingTrees("flat").count(0)
