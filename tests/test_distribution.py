"""The distribution object: copies and derivatives."""

import copy

import pytest
import torch
from torch.testing import assert_close

import sparsewood as sp
from sparsewood.testing import draw_scores


@pytest.mark.parametrize("needs_gradient", [False, True])
@pytest.mark.parametrize("lengths", [None, torch.tensor([3, 2])])
def test_copies_are_of_their_own(needs_gradient: bool, lengths: torch.Tensor | None) -> None:
    scores = draw_scores("normal", 2, (3, 4), seed=0).requires_grad_(needs_gradient)
    for structure in (sp.DependencyTrees(), sp.DependencyTrees(projective=True)):
        dist = sp.marginals(scores * 2, structure, lengths=lengths)
        twin = copy.deepcopy(dist)
        assert twin.structure == dist.structure
        assert_close(twin.marginals, dist.marginals)
        assert_close(twin.entropy(), dist.entropy())
        assert_close(twin.log_prob(dist.mode), dist.log_prob(dist.mode))
        assert (twin.kl(dist) == 0).all()
        assert (twin.scores.data_ptr() == dist.scores.data_ptr()) == needs_gradient
        draws = [d.sample(3, generator=torch.Generator().manual_seed(0)) for d in (dist, twin)]
        assert torch.equal(*draws)
        if needs_gradient:
            slopes = [
                torch.autograd.grad(d.entropy().sum(), scores, retain_graph=True)[0]
                for d in (dist, twin)
            ]
            assert_close(*slopes)


def test_samples_are_a_posterior() -> None:
    scores, trees = draw_scores("normal", 3, (4, 5), seed=0), sp.DependencyTrees()
    lengths = torch.tensor([4, 2, 3])
    dist = sp.marginals(scores, trees, lengths=lengths)
    post = dist.posterior(5, generator=torch.Generator().manual_seed(0))
    draws = dist.sample(5, generator=torch.Generator().manual_seed(0))
    assert post.sizes.tolist() == [5, 5, 5]
    assert_close(post.weights, torch.full((15,), 0.2).double())
    assert torch.equal(post.structures.reshape(3, 5, 4), draws.transpose(0, 1))
    assert post.lengths is not None
    assert torch.equal(post.lengths, lengths)
    mean = trees.indicator(draws.flatten(0, 1)).reshape(5, 3, 4, 5).mean(0)
    assert_close(post.marginals, mean)
    same = (draws == post.mode).all(-1).double().mean(0)
    assert_close(post.log_prob(post.mode).exp(), same)
    assert post.forest().shape == (3, 4)
    assert sp.marginals(scores[:0], trees).posterior(3).marginals.shape == (0, 4, 5)


def test_no_graph_without_need() -> None:
    dist = sp.marginals(draw_scores("normal", 2, (4,), seed=0), sp.Simplex())
    assert not dist.entropy().requires_grad
    assert not dist.log_prob(dist.mode).requires_grad
    assert not dist.kl(dist).requires_grad


@pytest.mark.parametrize(
    ("structure", "shape"),
    [
        (sp.Subset(3), (3,)),
        (sp.BinaryTrees(), (1, 1)),
        (sp.Alignment(), (1, 1)),
        (sp.DependencyTrees(), (1, 2)),
    ],
    ids=str,
)
def test_marginals_of_an_only_structure_have_a_gradient(
    structure: sp.Structure, shape: tuple[int, ...]
) -> None:
    scores = draw_scores("normal", 2, shape, seed=0).requires_grad_()
    (gradient,) = torch.autograd.grad(sp.marginals(scores, structure).marginals.sum(), scores)
    assert (gradient == 0).all()


def test_the_mode_of_scores_that_a_temperature_brings_down() -> None:
    scores = torch.tensor(
        [[[2e250, 1e250], [1e250, 3e250]], [[0.0, 1.0], [1.0, 0.0]]], dtype=torch.float64
    )
    temperature = torch.tensor([1e249, 1.0], dtype=torch.float64)
    dist = sp.marginals(scores.flatten(1), sp.Simplex(), temperature=temperature)
    assert dist.mode.tolist() == [3, 1]
    drawn = sp.sample_matchings(scores, sp.Matching(), temperature=temperature * 1e-3)
    assert drawn.tolist() == [[[0, 1], [1, 0]]]


def test_the_mode_of_tiny_scores_beside_large_parts_that_are_not_read() -> None:
    scores = torch.full((1, 2, 3), 1e300, dtype=torch.float64)  # a word is not its own head
    scores[0, 0, [0, 2]] = torch.tensor([1e-310, 2e-310], dtype=torch.float64)
    scores[0, 1, [0, 1]] = torch.tensor([4e-310, 1e-310], dtype=torch.float64)
    dist = sp.marginals(scores, sp.DependencyTrees(projective=True), temperature=1e-310)
    assert dist.mode.tolist() == [[2, 0]]
