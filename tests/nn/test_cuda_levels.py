"""Compositions by kernels against PyTorch: states, gradients, launches."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood._internal import cuda
from sparsewood.nn import _cuda_levels
from sparsewood.nn._composer import LevelComposer
from sparsewood.nn._cuda_levels import KernelCell
from sparsewood.nn._levels import Cell
from sparsewood.nn.tree_gru import _GRUCell
from sparsewood.nn.tree_lstm import TorchCell
from tests.emulator import ORDERS, EmulatedKernels

NETS: list[tuple[type[LevelComposer], type[Cell]]] = [
    (sp.nn.ChildSumTreeLSTM, TorchCell),
    (sp.nn.TreeGRU, _GRUCell),
]
nets = pytest.mark.parametrize(("make", "cell"), NETS, ids=["lstm", "gru"])
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 0.05}


def _run(net: LevelComposer, x: Tensor, forest: sp.Forest, *edges: Tensor) -> list[Tensor]:
    """The states of all nodes, and the gradients of words, weights of edges and parameters."""
    roots, nodes = net(x, forest, return_nodes=True)
    out = torch.cat([roots, nodes])
    weights = torch.linspace(-1, 1, out.numel(), device=x.device).view_as(out)
    leaves = [x, *edges, *net.parameters()]
    return [out, *torch.autograd.grad((weights * out).sum(), leaves, retain_graph=True)]


def _compare(net: LevelComposer, cell: type[Cell], x: Tensor, *given: Any) -> None:
    assert isinstance(net.cell(given[0]), KernelCell)
    ours = _run(net, x, *given)
    net.cell = lambda forest: cell()
    for mine, wanted in zip(ours, _run(net, x, *given), strict=True):
        assert mine.dtype == wanted.dtype
        atol = TOLERANCE[x.dtype] * max(1.0, wanted.abs().max().item())
        torch.testing.assert_close(mine, wanted, rtol=0, atol=atol)


@nets
@pytest.mark.parametrize("small", [0, 5, 256])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["chain", "star", "random", "duplicates"])
def test_it_equals_the_cell_of_pytorch(
    draw_trees: Any,
    device: torch.device,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[..., LevelComposer],
    cell: type[Cell],
    kind: str,
    weighted: bool,
    small: int,
) -> None:
    monkeypatch.setattr(_cuda_levels, "_SMALL", small)
    monkeypatch.setattr(_cuda_levels, "_LONG", 1 if small else 512)
    torch.manual_seed(0)
    net = make(3, 5, root="learned").double().to(device)
    assert net.root is not None
    torch.nn.init.normal_(net.root)
    heads, lengths, instance = (
        tensor.to(device) for tensor in draw_trees(kind, [4, 1, 7, 2], 5, 0)
    )
    x = torch.randn(4, 7, 3, dtype=torch.float64, device=device, requires_grad=True)
    edges = [torch.randn(heads.shape, dtype=x.dtype, device=device, requires_grad=True)]
    weights = edges[0] if weighted else None
    forest = sp.Forest.from_heads(heads, lengths, instance, weights=weights)
    _compare(net, cell, x, forest, *(edges if weighted else []))


@nets
@pytest.mark.parametrize("small", [0, 256])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_other_precisions(
    draw_trees: Any,
    device: torch.device,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[..., LevelComposer],
    cell: type[Cell],
    dtype: torch.dtype,
    weighted: bool,
    small: int,
) -> None:
    monkeypatch.setattr(_cuda_levels, "_SMALL", small)
    torch.manual_seed(0)
    net = make(3, 130).to(device, dtype)  # wider than a tile
    heads, lengths, instance = (t.to(device) for t in draw_trees("random", [4, 1, 6], 3, 0))
    x = torch.randn(3, 6, 3, device=device).to(dtype).requires_grad_()
    edges = [torch.rand(heads.shape, device=device).to(dtype).requires_grad_()]
    weights = edges[0] if weighted else None
    forest = sp.Forest.from_heads(heads, lengths, instance, weights=weights)
    _compare(net, cell, x, forest, *(edges if weighted else []))


@nets
def test_no_trees(
    device: torch.device, make: Callable[..., LevelComposer], cell: type[Cell]
) -> None:
    heads = torch.empty(0, 3, dtype=torch.int64, device=device)
    lengths = torch.tensor([3, 2], device=device)
    forest = sp.Forest.from_heads(heads, lengths, heads[:, 0])
    net = make(2, 3).to(device)
    x = torch.ones(2, 3, 2, device=device, requires_grad=True)
    states = net(x, forest)
    assert states.shape == (0, 3)
    for gradient in torch.autograd.grad(states.sum(), [x, *net.parameters()]):
        assert (gradient == 0).all()


@nets
def test_a_level_is_one_kernel_each_way(
    draw_trees: Any, make: Callable[..., LevelComposer], cell: type[Cell]
) -> None:
    """Sums do not depend on the order of threads."""
    torch.manual_seed(0)
    net, x = make(3, 5), torch.randn(2, 6, 3, requires_grad=True)
    found = []
    for order in ORDERS:
        started: list[str] = []

        def emulator(
            program: cuda.Program, order: str = order, started: list[str] = started
        ) -> EmulatedKernels:
            kernels = EmulatedKernels(program, order)
            kernels.launches = started
            return kernels

        with cuda.emulate(emulator):
            forest = sp.Forest.from_heads(*draw_trees("random", [6, 5], 4, 0))
            started.clear()
            found.append(_run(net, x, forest))
        levels = len(forest.levels) - 1
        ways = [name.split("_", 2)[-1] for name in started]
        up, down = ["up_product"] * levels + ["up"], ["down_product"] * levels + ["inputs"]
        assert ways == [*up, "turn", *down]
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize(
    ("make", "weighted"), [(sp.nn.ChildSumTreeLSTM, False), (sp.nn.TreeGRU, True)]
)
def test_in_a_compiled_graph(
    draw_trees: Any, device: torch.device, make: Callable[..., LevelComposer], weighted: bool
) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    net = make(3, 4).double().to(device)

    def loss(heads: Tensor, lengths: Tensor, instance: Tensor, x: Tensor, w: Tensor) -> Tensor:
        weights = w if weighted else None
        forest = sp.Forest.from_heads(heads, lengths, instance, weights=weights)
        return net(x, forest).square().sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for seed in range(2):
        heads, lengths, instance = (t.to(device) for t in draw_trees("random", [4, 3], 3, seed))
        x = torch.randn(2, 4, 3, dtype=torch.float64, device=device, requires_grad=True)
        w = torch.rand(6, 4, dtype=torch.float64, device=device, requires_grad=True)
        leaves = (x, *net.parameters(), *([w] if weighted else []))
        ours, theirs = (
            torch.autograd.grad(one(heads, lengths, instance, x, w), leaves)
            for one in (compiled, loss)
        )
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
