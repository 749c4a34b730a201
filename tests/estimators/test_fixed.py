"""Trees that do not depend on scores."""

import pytest
import torch

import sparsewood as sp
from sparsewood.estimators.fixed import Kind
from sparsewood.testing import EstimatorConformance

TREES, LENGTHS = sp.DependencyTrees(single_root=True), torch.tensor([4, 1, 3])


class TestFlat(EstimatorConformance):
    estimator = sp.Fixed("flat")


class TestChain(EstimatorConformance):
    estimator = sp.Fixed("right_to_left")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("left_to_right", [[2, 3, 4, 0], [0, -1, -1, -1], [2, 3, 0, -1]]),
        ("right_to_left", [[0, 1, 2, 3], [0, -1, -1, -1], [0, 1, 2, -1]]),
        ("flat", [[0, 0, 0, 0], [0, -1, -1, -1], [0, 0, 0, -1]]),
    ],
)
def test_the_tree_of_each_kind(kind: Kind, expected: list[list[int]]) -> None:
    scores = torch.full((3, 4, 5), torch.nan)
    post = sp.Fixed(kind)(scores, TREES, LENGTHS)
    assert post.structures.tolist() == expected
    assert post.structure == sp.DependencyTrees()  # the flat tree has many roots
    assert post.weights.tolist() == [1.0] * 3
    assert torch.equal(post.mode, post.structures)
    full = sp.Fixed(kind)(scores, TREES)
    assert full.structures[1].tolist() == expected[0]
    assert not hasattr(post, "gap")
    assert not hasattr(post, "converged")


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="kind: expected one of flat, left_to_right"):
        sp.Fixed("left")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="expected dependency trees, got Simplex"):
        sp.Fixed("flat")(torch.zeros(2, 3), sp.Simplex())
    with pytest.raises(ValueError, match=r"arc scores: expected \(\*batch, n, n \+ 1\)"):
        sp.Fixed("flat")(torch.zeros(2, 3, 3), TREES)
    with pytest.raises(ValueError, match=r"lengths\[1\] is 5"):
        sp.Fixed("flat")(torch.zeros(3, 4, 5), TREES, torch.tensor([4, 5, 3]))
