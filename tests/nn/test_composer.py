"""Tests of all composers."""

from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.nn._composer import TreeComposer

Kind = type[TreeComposer]
# Of 16 bits; states that are normalised are larger.
TOLERANCE: dict[Kind, float] = {
    sp.nn.ChildSumTreeLSTM: 0.02,
    sp.nn.TreeGRU: 0.02,
    sp.nn.OrderedComposer: 0.1,
}


@pytest.fixture(params=TOLERANCE, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture(params=[kind for kind in TOLERANCE if kind.reads_parts], ids=lambda k: k.__name__)
def weighing(request: pytest.FixtureRequest) -> Kind:
    return request.param


def _gradients(net: torch.nn.Module, x: Tensor, out: Tensor) -> list[Tensor]:
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    return list(torch.autograd.grad((weights * out).sum(), [x, *net.parameters()]))


def test_padding_is_not_read_and_gets_no_gradient(kind: Kind, forest: sp.Forest) -> None:
    net, x = kind(2, 3), torch.randn(3, 5, 2)
    spoiled = x.clone()
    spoiled[0, 4] = spoiled[1, 1:] = torch.nan
    spoiled.requires_grad_()
    out = net(spoiled, forest)
    torch.testing.assert_close(out, net(x, forest))
    out.sum().backward()
    assert spoiled.grad is not None
    assert (spoiled.grad[1, 1:] == 0).all()


def test_subtrees_are_expected_states_tree_by_tree(kind: Kind) -> None:
    torch.manual_seed(0)
    lengths = torch.tensor([4, 1, 3])
    post = sp.sparsemap(torch.randn(3, 4, 5).double(), sp.DependencyTrees(), lengths=lengths)
    assert (post.sizes > 1).any()
    net, x = kind(2, 3).double(), torch.randn(3, 4, 2).double()
    x[1, 1:] = x[2, 3:] = torch.nan
    found = net.subtrees(x, post.forest(), post.weights)
    for b, n in enumerate(lengths.tolist()):
        expected = torch.zeros(n, 3).double()
        for weight, heads in zip(post[b].weights, post[b].structures, strict=True):
            one = torch.tensor([n]), torch.tensor([0])
            alone = sp.Forest.from_heads(heads[None, :n], *one)
            _, nodes = net(x[b : b + 1, :n], alone, return_nodes=True)
            expected[alone.word[:n]] += weight * nodes[:n]
        torch.testing.assert_close(found[b, :n], expected)
        assert not found[b, n:].any()


def test_gradients_of_subtrees(kind: Kind, forest: sp.Forest) -> None:
    net = kind(2, 3).double()
    x = torch.randn(3, 5, 2, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(len(forest.roots), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, w: net.subtrees(x, forest, w), (x, weights))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_and_narrow_dtypes(kind: Kind, dtype: torch.dtype, forest: sp.Forest) -> None:
    torch.manual_seed(0)
    net, x = kind(8, 16), torch.randn(3, 5, 8, requires_grad=True)
    expected = net(x, forest)
    wanted = _gradients(net, x, expected)
    with torch.autocast("cpu", dtype=dtype):
        cast = net(x, forest)
    assert cast.dtype == dtype
    torch.testing.assert_close(cast.float(), expected, rtol=0.1, atol=TOLERANCE[kind])
    for ours, theirs in zip(_gradients(net, x, cast), wanted, strict=True):
        assert ours.dtype == torch.float32
        assert (ours - theirs).norm() < 0.05 * theirs.norm()
    narrow = net.to(dtype)(x.to(dtype), forest)
    assert narrow.dtype == dtype
    torch.testing.assert_close(narrow.float(), expected, rtol=0.1, atol=TOLERANCE[kind])


def test_backward_twice_gives_the_same(kind: Kind, forest: sp.Forest) -> None:
    net, x = kind(2, 3), torch.randn(3, 5, 2, requires_grad=True)
    loss = net(x, forest).sum()
    first, second = (
        torch.autograd.grad(loss, [x, *net.parameters()], retain_graph=True) for _ in range(2)
    )
    assert all(map(torch.equal, first, second))


def test_the_second_derivative_is_refused(kind: Kind, forest: sp.Forest) -> None:
    net, x = kind(2, 3), torch.randn(3, 5, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="differentiable once"):
        torch.autograd.grad(net(x, forest).sum(), x, create_graph=True)


def test_no_trees_no_states(kind: Kind) -> None:
    empty = torch.empty(0, 5, dtype=torch.int64)
    forest = sp.Forest.from_heads(empty, torch.tensor([5]), torch.tensor([]).long())
    net, x = kind(2, 3), torch.randn(1, 5, 2, requires_grad=True)
    out = net(x, forest)
    assert out.shape == (0, 3)
    out.sum().backward()
    assert x.grad is not None
    assert not x.grad.any()


def test_it_trains_on_a_posterior(kind: Kind) -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 5, 6, requires_grad=True)
    net, x = kind(3, 4), torch.randn(2, 5, 3)
    post = sp.sparsemap(scores, sp.DependencyTrees())
    post.expect(net(x, post.forest())).square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.abs().sum() > 0


def test_gradcheck_on_weights(weighing: Kind, draw_trees: Any) -> None:
    torch.manual_seed(0)
    heads, lengths, instance = draw_trees("random", [4, 1, 5], 2, 0)
    net = weighing(2, 3).double()
    x = torch.randn(3, 5, 2, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(heads.shape, dtype=torch.float64, requires_grad=True)

    def run(x: Tensor, weights: Tensor, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        forest = sp.Forest.from_heads(heads, lengths, instance, weights=weights)
        return net(x, forest, return_nodes=True)

    assert torch.autograd.gradcheck(run, (x, weights, *net.parameters()))


def test_weights_of_one_change_nothing(weighing: Kind, draw_trees: Any) -> None:
    trees = draw_trees("random", [4, 1, 5], 3, 0)
    net, x = weighing(2, 3), torch.randn(3, 5, 2)
    # of another dtype than the words
    weights = torch.full(trees[0].shape, torch.nan, dtype=torch.float64)
    weights[trees[0] >= 0] = 1.0
    weights.requires_grad_()
    out = net(x, sp.Forest.from_heads(*trees, weights=weights))
    torch.testing.assert_close(out, net(x, sp.Forest.from_heads(*trees)))
    out.sum().backward()
    assert weights.grad is not None
    assert torch.equal(weights.grad != 0, trees[0] >= 0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_under_autocast(weighing: Kind, dtype: torch.dtype, draw_trees: Any) -> None:
    torch.manual_seed(0)
    trees = draw_trees("random", [4, 1, 5], 3, 0)
    weights = torch.rand(trees[0].shape, requires_grad=True)
    net, x = weighing(8, 16), torch.randn(3, 5, 8)
    forest = sp.Forest.from_heads(*trees, weights=weights)
    expected = net(x, forest)
    with torch.autocast("cpu", dtype=dtype):
        cast = net(x, forest)
    torch.testing.assert_close(cast.float(), expected, rtol=0.1, atol=TOLERANCE[weighing])
    ours, theirs = (
        torch.autograd.grad(y.sum(), weights, retain_graph=True)[0] for y in (cast, expected)
    )
    assert ours.dtype == torch.float32
    assert (ours - theirs).norm() < 0.05 * theirs.norm()


def test_the_gradient_goes_by_the_parts(weighing: Kind) -> None:
    """The arcs of each tree get their gradient, although trees share most arcs."""
    torch.manual_seed(0)
    scores, lengths = torch.randn(2, 5, 6, dtype=torch.float64), torch.tensor([5, 3])
    hard = sp.TopK(3)(scores, sp.DependencyTrees(), lengths)
    parts = hard.parts.clone().requires_grad_()
    net, x = weighing(3, 4).double(), torch.randn(2, 5, 3, dtype=torch.float64)
    out = net.read(x, hard.with_parts(parts))
    torch.testing.assert_close(out, net.read(x, hard))
    (on_parts,) = torch.autograd.grad(out[1].sum(), parts)
    assert torch.equal(on_parts[1] != 0, parts[1] != 0)
    assert not on_parts[[0, 2, 3, 4, 5]].any()


def test_the_ordered_composer_names_those_that_read_weights() -> None:
    trees = torch.tensor([[0, 1]]), torch.tensor([2]), torch.tensor([0])
    forest = sp.Forest.from_heads(*trees, weights=torch.ones(1, 2))
    with pytest.raises(ValueError, match="does not support weighted edges.*ChildSumTreeLSTM"):
        sp.nn.OrderedComposer(2, 3)(torch.zeros(1, 2, 2), forest)
