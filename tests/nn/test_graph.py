"""Trees inferred and composed in one compiled graph."""

from typing import Literal

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.nn._graph import _compose_op
from sparsewood.testing import draw_scores
from tests.full import some_quick

TREES = sp.DependencyTrees()
LENGTHS = torch.tensor([4, 3])


@pytest.mark.parametrize("composer", [sp.nn.ChildSumTreeLSTM, sp.nn.TreeGRU])
@pytest.mark.parametrize("root", some_quick(["zero", "learned"], "learned"))
@pytest.mark.parametrize("weighted", some_quick([False, True], True))
def test_from_scores_to_vectors_in_one_graph(
    composer, root: Literal["zero", "learned"], weighted: bool
) -> None:
    """Forward and backward, one graph for forests of any size."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    module = composer(5, 6, root=root).double()

    def loss(scores: Tensor, x: Tensor) -> Tensor:
        post = sp.sparsemap(scores, TREES, lengths=LENGTHS)
        if weighted:
            post = post.with_parts(post.parts * scores.tanh()[post.instance])
        return post.expect(module(x, post.forest())).square().sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for seed, scale in enumerate((0.1, 1.0, 10.0)):
        scores = (scale * draw_scores("normal", 2, (4, 5), seed)).requires_grad_()
        x = draw_scores("normal", 2, (4, 5), seed + 9).requires_grad_()
        found, expected = compiled(scores, x), loss(scores, x)
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
        leaves = (scores, x, *module.parameters())
        ours, theirs = (torch.autograd.grad(one, leaves) for one in (found, expected))
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_opcheck(dtype: torch.dtype) -> None:
    heads = torch.tensor([[0, 1, 1], [2, 0, 2]])
    forest = sp.Forest.from_heads(heads, torch.tensor([3]), torch.tensor([0, 0]))
    torch.manual_seed(0)
    inputs = torch.randn(4, 8, dtype=dtype, requires_grad=True)
    weight = torch.randn(8, 2, dtype=dtype, requires_grad=True)
    tensors = [
        forest.words,
        forest.row,
        forest.child_offsets,
        forest.children,
        forest.parents,
        forest.roots,
        forest.bounds,
        forest.tree_nodes,
    ]
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    given = (inputs, weight, 6, "NativeCell", tensors, [1, 3])
    torch.library.opcheck(_compose_op, given, test_utils=checks)


def test_a_frozen_weight_gets_no_gradient() -> None:
    module = sp.nn.ChildSumTreeLSTM(5, 6)
    module.recurrent.requires_grad_(False)
    post = sp.sparsemap(torch.randn(2, 4, 5), TREES)
    module(torch.randn(2, 4, 5), post.forest()).sum().backward()
    assert module.recurrent.weight.grad is None
    assert module.input.weight.grad is not None
