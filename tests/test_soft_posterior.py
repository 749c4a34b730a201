"""Soft posteriors: methods that work without structures, and errors of the others."""

import copy
from collections.abc import Callable

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import draw_scores

LENGTHS = torch.tensor([4, 2])


@pytest.fixture
def post() -> sp.Posterior:
    scores = draw_scores("normal", 2, (4, 5), seed=0)
    return sp.Gibbs()(scores, sp.DependencyTrees(), LENGTHS)


def test_one_row_of_each_instance(post: sp.Posterior) -> None:
    assert len(post) == 2
    assert post.weights.tolist() == [1.0, 1.0]
    assert torch.equal(post.parts, post.marginals)
    values = torch.randn(2, 3)
    assert torch.equal(post.expect(values), values)
    pairs = post.product(post)
    assert (pairs.left.tolist(), pairs.right.tolist()) == ([0, 1], [0, 1])


def test_one_instance(post: sp.Posterior) -> None:
    last = post[-1]
    assert torch.equal(last.marginals, post.marginals[1:])
    assert torch.equal(last.mode, post.mode[1:])
    assert torch.equal(last.entropy(), post.entropy()[1:])
    assert last.lengths is not None
    assert last.lengths.tolist() == [2]
    assert torch.equal(last[0].parts, last.parts)
    assert [len(one) for one in post] == [1, 1]
    with pytest.raises(IndexError, match="instance 2"):
        post[2]


USES: dict[str, Callable[[sp.Posterior], object]] = {
    "structures": lambda post: post.structures,
    "expect": lambda post: post.expect(lambda structures, instance: structures),
    "forest": lambda post: post.forest(),
    "log_prob": lambda post: post.log_prob(post.mode),
    "sample": lambda post: post.sample(2),
    "topk": lambda post: post.topk(2),
    "draw": lambda post: sp.draw.show(post),
}


@pytest.mark.parametrize("use", USES)
def test_what_needs_structures(post: sp.Posterior, use: str) -> None:
    with pytest.raises(TypeError, match="has marginals of parts, not structures"):
        USES[use](post)


def test_it_shows_itself(post: sp.Posterior) -> None:
    assert repr(post) == f"SoftPosterior({post.structure}, 2 instances, parts of shape (4, 5))"
    assert "1 instance," in repr(post[0])
    assert repr(post[0]) in (post[0]._repr_html_() or "")
    assert torch.equal(copy.deepcopy(post).marginals, post.marginals)
