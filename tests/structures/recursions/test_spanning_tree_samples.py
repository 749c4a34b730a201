"""Samples of non-projective trees, by walks, by elimination and by kernels, against enumeration."""

from functools import partial

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood._internal import cuda
from sparsewood.structures.recursions import FORBIDDEN
from sparsewood.structures.recursions.spanning_tree_samples import sample_spanning_trees
from sparsewood.testing import draw_scores
from sparsewood.testing.marginals import _check_frequencies
from tests.emulator import ORDERS, EmulatedKernels

COUNT = 4000
roots = pytest.mark.parametrize("single_root", [False, True])


def table(scores: Tensor) -> Tensor:
    """Scores as recursions get them."""
    n = scores.shape[1]
    scores[:, torch.arange(n), torch.arange(1, n + 1)] = FORBIDDEN
    return scores.nan_to_num(neginf=FORBIDDEN)


def check(scores: Tensor, single_root: bool) -> None:
    trees = sp.DependencyTrees(single_root=single_root)
    everything = trees.enumerate(scores.shape[1])
    parts = trees.indicator(everything).flatten(1)
    prob = torch.where(parts.bool(), scores.flatten(1)[:, None], 0.0).sum(-1).softmax(-1)
    generator = torch.Generator().manual_seed(0)
    heads = sample_spanning_trees(scores, None, single_root, COUNT, generator)
    for b in range(len(scores)):
        found = (heads[:, b, None] == everything).all(-1).double().sum(0)
        assert found.sum() == COUNT
        _check_frequencies(found, prob[b] * COUNT)


@roots
@pytest.mark.parametrize("kind", ["normal", "forbidden"])
@pytest.mark.parametrize("scale", [1.0, 8.0])
def test_samples_follow_the_distribution(single_root: bool, kind: str, scale: float) -> None:
    scores = draw_scores(kind, 3, (4, 5), seed=2) * scale
    scores[:, :, 0].clamp_(min=-3.0)  # a tree is left
    check(table(scores), single_root)


@roots
@pytest.mark.parametrize("bond", [30.0, 900.0])
def test_words_that_prefer_each_other(single_root: bool, bond: float) -> None:
    """Walks between two such words do not end; at 900 nats the weights of the rest underflow."""
    scores = draw_scores("normal", 2, (4, 5), seed=3)
    for word, head in ((0, 2), (1, 1), (2, 4), (3, 3)):
        scores[:, word, head] += bond
    check(table(scores), single_root)


@roots
@pytest.mark.parametrize("order", ORDERS)
def test_samples_by_kernels_are_those_by_native_code(single_root: bool, order: str) -> None:
    scores = draw_scores("normal", 3, (6, 7), seed=1)
    scores[0, 2, 4] = scores[0, 3, 3] = 40.0
    lengths = torch.tensor([6, 4, 1])
    reads = sp.DependencyTrees().reads(scores, lengths)
    scores = scores.masked_fill(~reads, FORBIDDEN)

    def draw() -> Tensor:
        generator = torch.Generator().manual_seed(3)
        return sample_spanning_trees(scores, lengths, single_root, 40, generator)

    native = draw()
    with cuda.emulate(partial(EmulatedKernels, order=order)):
        assert torch.equal(draw(), native)
    assert ((native < 0) == (torch.arange(6) >= lengths[:, None])).all()


def test_long_sentences_have_the_marginals_as_their_mean() -> None:
    scores = draw_scores("normal", 2, (30, 31), seed=0) * 2
    trees = sp.DependencyTrees()
    dist = sp.marginals(scores, trees)
    samples = dist.sample(COUNT, generator=torch.Generator().manual_seed(0))
    mean = trees.indicator(samples.flatten(0, 1)).unflatten(0, (COUNT, 2)).mean(0)
    error = (dist.marginals * (1 - dist.marginals)).clamp(min=0).sqrt() / COUNT**0.5
    assert ((mean - dist.marginals).abs() <= 5 * error + 2e-3).all()
