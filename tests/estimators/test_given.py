"""Structures given by the caller."""

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import EstimatorConformance

HEADS = torch.tensor([[2, 0, 2, 3], [0, 1, -1, -1], [0, 0, 1, -1]])
TREES, LENGTHS = sp.DependencyTrees(), torch.tensor([4, 2, 3])


class TestGiven(EstimatorConformance):
    estimator = sp.Given(HEADS)


class TestTags(EstimatorConformance):
    estimator = sp.Given(torch.tensor([[0, 1, 1, 0], [1, 1, -1, -1], [0, 0, 1, -1]]))
    structure = sp.LinearChain()
    shape = (4, 2, 3)


def test_one_structure_of_weight_one() -> None:
    post = sp.Given(HEADS)(torch.full((3, 4, 5), torch.nan), TREES, LENGTHS)
    assert torch.equal(post.structures, HEADS)
    assert post.weights.tolist() == [1.0] * 3
    assert torch.equal(post.marginals.double(), TREES.indicator(HEADS))
    assert post.forest().shape == (3, 4)


def test_any_batch_dimensions() -> None:
    scores = torch.zeros(3, 1, 4, 5)
    post = sp.Given(HEADS[:, None])(scores, TREES, LENGTHS[:, None])
    assert post.sizes.shape == (3, 1)
    assert torch.equal(post.mode, HEADS[:, None])
    assert torch.equal(sp.Given(HEADS[0])(scores[0, 0], TREES).mode, HEADS[0])
    with pytest.raises(ValueError, match=r"given\[1, 0\] is not one of"):
        sp.Given(HEADS[:, None])(scores, TREES)
    with pytest.raises(ValueError, match=r"given: expected one entry per instance .* \(3, 1\)"):
        sp.Given(HEADS)(scores, TREES)


def test_what_is_refused() -> None:
    scores = torch.zeros(3, 4, 5)
    with pytest.raises(ValueError, match="expected structures, got None"):
        sp.Given()(scores, TREES, LENGTHS)
    with pytest.raises(ValueError, match=r"given of shape \(3, 3\) does not fit"):
        sp.Given(HEADS[:, 1:])(scores, TREES, LENGTHS)
    with pytest.raises(ValueError, match=r"given\[1\] is not one of DependencyTrees.*\[0, 1, -1"):
        sp.Given(HEADS)(scores, TREES)  # words beyond its length have no head
    with pytest.raises(ValueError, match=r"given\[2\] is not one of .*single_root=True"):
        sp.Given(HEADS)(scores, sp.DependencyTrees(single_root=True), LENGTHS)


def test_equal_where_the_structures_are_the_same() -> None:
    assert sp.Given() == sp.Given()
    assert sp.Given(HEADS) == sp.Given(HEADS)
    assert sp.Given(HEADS) != sp.Given(HEADS.clone())
    assert sp.Given(HEADS) != sp.Given()
