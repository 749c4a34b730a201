"""The product of two posteriors against a double loop."""

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import draw_scores

TREES = sp.DependencyTrees()


def posteriors() -> tuple[sp.SparsePosterior, sp.SparsePosterior, torch.Tensor, torch.Tensor]:
    left = draw_scores("normal", 3, (5, 6), seed=0).requires_grad_()
    right = draw_scores("normal", 3, (3, 4), seed=1).requires_grad_()
    return sp.sparsemap(left, TREES), sp.sparsemap(right, TREES, temperature=2.0), left, right


def test_all_pairs_of_each_instance() -> None:
    premises, hypotheses, _, _ = posteriors()
    pairs = premises.product(hypotheses)
    expected = [
        (left, right)
        for left, i in enumerate(premises.instance.tolist())
        for right, j in enumerate(hypotheses.instance.tolist())
        if i == j
    ]
    assert list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)) == expected
    assert len(pairs) == 3
    assert pairs.sizes.tolist() == (premises.sizes * hypotheses.sizes).tolist()
    assert pairs.sizes.max() > 4  # several on both sides
    assert torch.equal(pairs.instance, premises.instance[pairs.left])
    assert torch.equal(pairs.instance, hypotheses.instance[pairs.right])
    torch.testing.assert_close(
        pairs.expect(torch.ones_like(pairs.weights)), torch.ones(3, dtype=torch.float64)
    )
    assert repr(pairs) == f"PairPosterior(3 instances, {len(expected)} pairs)"


def test_the_expectation_of_a_product_is_that_of_its_factors() -> None:
    premises, hypotheses, left, right = posteriors()
    u = torch.randn(len(premises.weights), 4, dtype=torch.float64)
    v = torch.randn(len(hypotheses.weights), 4, dtype=torch.float64)
    joint = premises.product(hypotheses).expect(lambda i, j: u[i] * v[j])
    apart = premises.expect(u) * hypotheses.expect(v)
    torch.testing.assert_close(joint, apart)
    weigh = torch.randn_like(joint)
    gradients = [
        torch.autograd.grad(y, (left, right), weigh, retain_graph=True) for y in (joint, apart)
    ]
    torch.testing.assert_close(*gradients)


def test_none_and_bad_input() -> None:
    premises, hypotheses, _, _ = posteriors()
    none = sp.sparsemap(torch.zeros(0, 2, 3), TREES)
    assert none.product(none).expect(torch.zeros(0, 7)).shape == (0, 7)
    with pytest.raises(ValueError, match=r"the same batch, got batches of shape \(3,\) and \(0,\)"):
        premises.product(none)
    with pytest.raises(ValueError, match=r"got shape \(1, 2\)"):
        premises.product(hypotheses).expect(torch.zeros(1, 2))
