"""The ordered composer against recursion over one tree at a time, values and gradients."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.nn._steps import Steps

KINDS = st.sampled_from(["chain", "star", "random", "duplicates"])
LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=3)


def recursion(net: sp.nn.OrderedComposer, x: Tensor, heads: list[int]) -> Tensor:
    """The root state of one tree over the words x (n, d)."""
    root = x.new_zeros(net.input_size) if net.root is None else net.root

    def node(word: int) -> Tensor:
        state = net.norm(net.input(root if word == 0 else x[word - 1]))
        for child in (node(i + 1) for i, head in enumerate(heads) if head == word):
            a = torch.nn.functional.gelu(net.inner(torch.cat([state, child])))
            f, i, g, v = net.outer(a).chunk(4)
            state = net.norm(f.sigmoid() * state + i.sigmoid() * child + g.sigmoid() * v)
        return state

    return node(0)


@settings(max_examples=25, deadline=None)
@given(KINDS, LENGTHS, st.integers(1, 4), st.integers(0, 10**6))
def test_it_equals_recursion(
    draw_trees: Any, check_recursion: Any, kind: str, lengths: list[int], trees: int, seed: int
) -> None:
    torch.manual_seed(seed)
    net = sp.nn.OrderedComposer(3, 4, 5, root="learned").double()
    for parameter in net.parameters():  # nontrivial normalisation and root
        torch.nn.init.normal_(parameter)
    check_recursion(net, recursion, *draw_trees(kind, lengths, trees, seed))


def test_gradcheck_on_all_nodes(forest: sp.Forest) -> None:
    torch.manual_seed(0)
    net = sp.nn.OrderedComposer(2, 3).double()
    x = torch.randn(3, 5, 2, dtype=torch.float64, requires_grad=True)

    def run(x: Tensor, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        return net(x, forest, return_nodes=True)

    assert torch.autograd.gradcheck(run, (x, *net.parameters()))
    roots, nodes = run(x)
    assert nodes.shape == (forest.num_nodes, 3)
    assert torch.equal(roots, nodes[forest.roots])


def test_the_order_of_the_children_matters() -> None:
    torch.manual_seed(0)
    forest = sp.Forest.from_heads(
        torch.tensor([[0, 1, 1]]), torch.tensor([3]), torch.zeros(1).long()
    )
    net, x = sp.nn.OrderedComposer(2, 8), torch.randn(1, 3, 2)
    assert not torch.allclose(net(x, forest), net(x[:, [0, 2, 1]], forest), atol=1e-3)


@pytest.mark.parametrize(
    ("heads", "steps"),
    [
        ([0, 0, 0, 0], 4),  # flat
        ([2, 3, 4, 0], 4),  # a chain
        ([0, 1, 1, 3], 3),  # the third word reads the fourth while the first reads the second
        ([2, 0, 2, 3], 3),
        ([0, 1, 1, 1], 4),
    ],
)
def test_an_edge_is_read_as_soon_as_it_can_be(heads: list[int], steps: int) -> None:
    forest = sp.Forest.from_heads(
        torch.tensor([heads]), torch.tensor([4]), torch.zeros(1, dtype=torch.int64)
    )
    assert len(Steps.of(forest).bounds) - 1 == steps


def test_trees_share_what_they_read_first() -> None:
    """Two trees that differ in the last child of the first word and its ancestors."""
    heads = torch.tensor([[0, 1, 1, 1], [0, 1, 1, 0]])
    forest = sp.Forest.from_heads(heads, torch.tensor([4]), torch.zeros(2, dtype=torch.int64))
    assert len(forest.children) == 8
    assert Steps.of(forest).bounds == (0, 1, 2, 4, 6)


def test_frozen_weights_get_no_gradient(forest: sp.Forest) -> None:
    net, x = sp.nn.OrderedComposer(2, 3), torch.randn(3, 5, 2)
    net.inner.requires_grad_(False)
    net(x, forest).sum().backward()
    assert net.inner.weight.grad is None
    assert net.outer.weight.grad is not None


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # dynamo's own, at a break
def test_a_compiled_graph_breaks_and_is_right(forest: sp.Forest) -> None:
    torch._dynamo.reset()
    net, x = sp.nn.OrderedComposer(2, 3), torch.randn(3, 5, 2)
    compiled = torch.compile(lambda x: net(x, forest).square(), backend="eager")
    torch.testing.assert_close(compiled(x), net(x, forest).square())
