"""Lazy attributes, and deep copies of results that are part of a graph."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood._internal.lazy import lazy
from sparsewood.testing import draw_scores
from tests.full import some_quick

TREES = sp.DependencyTrees()
LENGTHS = torch.tensor([4, 3])


def test_lazy_computes_once() -> None:
    calls: list[int] = []

    class Thing:
        @lazy
        def answer(self) -> int:
            """The answer."""
            calls.append(1)
            return 42

    thing = Thing()
    assert thing.answer == thing.answer == 42
    assert len(calls) == 1
    assert Thing.answer.__doc__ == "The answer."


def _graph() -> sp.FactorGraph:
    graph = sp.FactorGraph()
    graph.add(TREES, graph.variables(4, 5))
    return graph


RESULTS: dict[str, Callable[[Tensor], Any]] = {
    "posterior": lambda x: sp.sparsemap(x, TREES, lengths=LENGTHS),
    "distribution": lambda x: sp.marginals(x, TREES, lengths=LENGTHS),
    "graph": lambda x: sp.lp_sparsemap(x, _graph()),
}


@pytest.mark.parametrize("name", RESULTS)
def test_copies_keep_the_graph(name: str) -> None:
    scores = draw_scores("normal", 2, (4, 5), seed=0).requires_grad_()
    result = RESULTS[name](scores)
    other = copy.deepcopy(result)
    assert other is not result
    assert type(other) is type(result)
    assert torch.equal(other.marginals, result.marginals)
    if name != "graph":
        assert other.lengths is not result.lengths
        assert torch.equal(other.entropy(), result.entropy())
    slopes = [
        torch.autograd.grad(one.marginals.square().sum(), scores, retain_graph=True)[0]
        for one in (result, other)
    ]
    assert slopes[0].abs().max() > 0
    assert torch.equal(*slopes)


def test_a_pickle_has_the_values() -> None:
    scores = draw_scores("normal", 2, (4, 5), seed=0).requires_grad_()
    post = sp.sparsemap(scores, TREES, lengths=LENGTHS)
    read = pickle.loads(pickle.dumps(post))
    assert torch.equal(read.weights, post.weights)
    assert torch.equal(read.entropy(), post.entropy())
    assert read.structure == post.structure


USES: dict[str, Callable[[sp.SparsePosterior], Tensor]] = {
    "expect": lambda post: post.expect(lambda heads, instance: heads.double().sum(-1)),
    "mode": lambda post: post.expect(post.weights) * post.mode.sum(),
    "topk": lambda post: post.topk(2).weights,
    "entropy": lambda post: post.entropy(),
    "log_prob": lambda post: post.log_prob(post.mode),
    "product": lambda post: post.product(post).expect(lambda a, b: (a * b).double()),
}


@pytest.mark.parametrize("use", some_quick(USES))
def test_posteriors_are_used_in_one_graph(use: str) -> None:
    def loss(scores: Tensor) -> Tensor:
        return USES[use](sp.sparsemap(scores, TREES, lengths=LENGTHS)).square().sum()

    torch._dynamo.reset()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for scale in (0.1, 1.0, 10.0):
        scores = (scale * draw_scores("normal", 2, (4, 5), seed=1)).requires_grad_()
        found, expected = compiled(scores), loss(scores)
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
        slopes = [torch.autograd.grad(one, scores)[0] for one in (found, expected)]
        torch.testing.assert_close(*slopes, rtol=0, atol=1e-12)
