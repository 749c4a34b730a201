"""The TreeGRU against recursion over one tree at a time, values and gradients."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp

KINDS = st.sampled_from(["chain", "star", "random", "duplicates"])
LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=3)


def recursion(
    net: sp.nn.TreeGRU, x: Tensor, heads: list[int], edges: Tensor | None = None
) -> Tensor:
    """The root state of one tree over the words x (n, d)."""
    W, b, U = (p.chunk(3) for p in (net.input.weight, net.input.bias, net.recurrent.weight))
    root = x.new_zeros(net.input_size) if net.root is None else net.root

    def child(i: int) -> Tensor:
        return node(i + 1) if edges is None else edges[i] * node(i + 1)

    def node(word: int) -> Tensor:
        vector = root if word == 0 else x[word - 1]
        below = (child(i) for i, head in enumerate(heads) if head == word)
        s = sum(below, x.new_zeros(net.hidden_size))
        r, z = ((W[g] @ vector + b[g] + U[g] @ s).sigmoid() for g in (0, 1))
        v = (W[2] @ vector + b[2] + r * (U[2] @ s)).tanh()
        return (1 - z) * v + z * s

    return node(0)


@pytest.mark.parametrize("weighted", [False, True])
@settings(max_examples=25, deadline=None)
@given(KINDS, LENGTHS, st.integers(1, 4), st.integers(0, 10**6))
def test_it_equals_recursion(
    draw_trees: Any,
    check_recursion: Any,
    weighted: bool,
    kind: str,
    lengths: list[int],
    trees: int,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    net = sp.nn.TreeGRU(3, 4, root="learned").double()
    check_recursion(net, recursion, *draw_trees(kind, lengths, trees, seed), weighted=weighted)


def test_gradcheck_on_all_nodes(draw_trees: Any) -> None:
    torch.manual_seed(0)
    forest = sp.Forest.from_heads(*draw_trees("random", [4, 1, 5], 3, 0))
    net = sp.nn.TreeGRU(2, 3).double()
    x = torch.randn(3, 5, 2, dtype=torch.float64, requires_grad=True)

    def run(x: Tensor, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        return net(x, forest, return_nodes=True)

    assert torch.autograd.gradcheck(run, (x, *net.parameters()))
