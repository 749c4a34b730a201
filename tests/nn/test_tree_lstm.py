"""The TreeLSTM against recursion over one tree at a time, values and gradients."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.nn._levels import Composition
from sparsewood.nn.tree_lstm import NativeCell, TorchCell

KINDS = st.sampled_from(["chain", "star", "random", "duplicates"])
LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=3)
CELLS: list[type[Composition]] = [NativeCell, TorchCell]


def recursion(
    net: sp.nn.ChildSumTreeLSTM, x: Tensor, heads: list[int], edges: Tensor | None = None
) -> Tensor:
    """The root state of one tree over the words x (n, d), by the formulas of the paper."""
    W_iou, W_f = net.input.weight.split([3 * net.hidden_size, net.hidden_size])
    b_iou, b_f = net.input.bias.split([3 * net.hidden_size, net.hidden_size])
    U_iou, U_f = net.recurrent.weight.split([3 * net.hidden_size, net.hidden_size])
    root = x.new_zeros(net.input_size) if net.root is None else net.root

    def child(i: int) -> tuple[Tensor, Tensor]:
        h, c = node(i + 1)
        return (h, c) if edges is None else (edges[i] * h, edges[i] * c)

    def node(word: int) -> tuple[Tensor, Tensor]:
        vector = root if word == 0 else x[word - 1]
        below = [child(i) for i, head in enumerate(heads) if head == word]
        h_sum = sum((h for h, _ in below), x.new_zeros(net.hidden_size))
        i, o, u = (W_iou @ vector + b_iou + U_iou @ h_sum).chunk(3)
        c = i.sigmoid() * u.tanh()
        for h, c_child in below:
            c = c + (W_f @ vector + b_f + U_f @ h).sigmoid() * c_child
        return o.sigmoid() * c.tanh(), c

    return node(0)[0]


def _gradients(net: torch.nn.Module, x: Tensor, out: Tensor) -> list[Tensor]:
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    return list(torch.autograd.grad((weights * out).sum(), [x, *net.parameters()]))


@pytest.mark.parametrize("cell", CELLS)
@settings(max_examples=25, deadline=None)
@given(KINDS, LENGTHS, st.integers(1, 4), st.integers(0, 10**6))
def test_it_equals_recursion(
    draw_trees: Any,
    check_recursion: Any,
    cell: type[Composition],
    kind: str,
    lengths: list[int],
    trees: int,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    net = sp.nn.ChildSumTreeLSTM(3, 4, root="learned").double()
    net.cell = lambda forest: cell()
    assert net.root is not None
    torch.nn.init.normal_(net.root)
    check_recursion(net, recursion, *draw_trees(kind, lengths, trees, seed))


@settings(max_examples=25, deadline=None)
@given(KINDS, LENGTHS, st.integers(1, 4), st.integers(0, 10**6))
def test_weights_of_edges_equal_recursion(
    draw_trees: Any, check_recursion: Any, kind: str, lengths: list[int], trees: int, seed: int
) -> None:
    torch.manual_seed(seed)
    net = sp.nn.ChildSumTreeLSTM(3, 4).double()
    check_recursion(net, recursion, *draw_trees(kind, lengths, trees, seed), weighted=True)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("root", ["zero", "learned"])
def test_gradcheck_on_all_nodes(root: Any, cell: type[Composition], forest: sp.Forest) -> None:
    torch.manual_seed(0)
    net = sp.nn.ChildSumTreeLSTM(2, 3, root=root).double()
    net.cell = lambda forest: cell()
    x = torch.randn(3, 5, 2, dtype=torch.float64, requires_grad=True)

    def run(x: Tensor, *parameters: Tensor) -> tuple[Tensor, Tensor]:
        return net(x, forest, return_nodes=True)

    assert torch.autograd.gradcheck(run, (x, *net.parameters()))
    roots, nodes = run(x)
    assert nodes.shape == (forest.num_nodes, 3)
    assert torch.equal(roots, nodes[forest.roots])


def test_float32_is_close_to_float64(forest: sp.Forest) -> None:
    torch.manual_seed(0)
    net, x = sp.nn.ChildSumTreeLSTM(6, 40), 3 * torch.randn(3, 5, 6)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter *= 4  # saturate some of the gates
    x.requires_grad_()
    single = net(x, forest)
    gradients = _gradients(net, x, single)
    net.double()
    x = x.detach().double().requires_grad_()
    double = net(x, forest)
    torch.testing.assert_close(single.double(), double, rtol=0, atol=1e-5)
    for ours, theirs in zip(gradients, _gradients(net, x, double), strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-3, atol=1e-4)


def test_state_dict_round_trip(forest: sp.Forest) -> None:
    net, other = (sp.nn.ChildSumTreeLSTM(2, 3, root="learned") for _ in range(2))
    other.load_state_dict(net.state_dict())
    x = torch.randn(3, 5, 2)
    assert torch.equal(net(x, forest), other(x, forest))
    assert set(net.state_dict()) == {"root", "input.weight", "input.bias", "recurrent.weight"}
    assert "root" not in sp.nn.ChildSumTreeLSTM(2, 3).state_dict()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda net, f: net(torch.zeros(3, 4, 2), f), r"expected \(B, n\) = \(3, 5\)"),
        (lambda net, f: net(torch.zeros(3, 5, 3), f), r"\(\*batch, n, 2\)"),
        (lambda net, f: net(torch.zeros(3, 5, 1, 2), f), r"expected \(B, n\) = \(3, 5\)"),
        (lambda net, f: net(torch.zeros(3, 5, 2), f.to("meta")), "on meta for this forest"),
        (lambda net, f: sp.nn.ChildSumTreeLSTM(2, 3, root="mean"), "'zero' or 'learned'"),  # type: ignore[arg-type]
    ],
)
def test_bad_input(call: Callable[..., Any], message: str, forest: sp.Forest) -> None:
    with pytest.raises(ValueError, match=message):
        call(sp.nn.ChildSumTreeLSTM(2, 3), forest)
