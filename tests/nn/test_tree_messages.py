"""Messages along trees against a plain loop, along edges and across all pairs."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp

KINDS = st.sampled_from(["chain", "star", "random", "duplicates"])
LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=3)


def make(*, steps: int = 3, root: Any = "learned") -> sp.nn.TreeMessages:
    net = sp.nn.TreeMessages(3, 4, steps, root=root).double()
    if net.root is not None:
        torch.nn.init.normal_(net.root)
    return net


def loop(net: sp.nn.TreeMessages, x: Tensor, arcs: Tensor) -> Tensor:
    """The root's state over words x (n, d) and arcs (n, n + 1), by the paper's formulas."""
    root = x.new_zeros(net.input_size) if net.root is None else net.root
    states = [net.input(vector) for vector in (root, *x)]
    W_1 = torch.cat([net.child.weight, net.parent.weight], 1)
    for _ in range(net.steps):
        new = []
        for p, state in enumerate(states):
            for c in range(1, len(states)):
                if c != p:
                    inner = (W_1 @ torch.cat([states[c], states[p]]) + net.child.bias).relu()
                    state = state + arcs[c - 1, p] * net.outer(inner).relu()
            new.append(state)
        states = new
    return states[0]


def hard_arcs(heads: Tensor) -> Tensor:
    return sp.DependencyTrees().indicator(heads).double()


def compare(net: sp.nn.TreeMessages, x: Tensor, arcs: Tensor, sizes: Tensor, of: Tensor) -> None:
    """Vectors and gradients against the loop."""
    found = net(x, arcs, of, sizes)
    wanted = []
    for row, b in zip(arcs, of.tolist(), strict=True):
        n = int(sizes[b])
        wanted.append(loop(net, x[b, :n], row[:n, : n + 1]))
    expected = torch.stack(wanted)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    inputs = [x, *net.parameters(), *([arcs] if arcs.requires_grad else [])]
    slope = torch.linspace(-1, 1, found.numel(), dtype=found.dtype).view_as(found)
    ours, theirs = (torch.autograd.grad((slope * y).sum(), inputs) for y in (found, expected))
    for mine, other in zip(ours, theirs, strict=True):
        atol = 1e-12 * max(1.0, other.abs().max().item())
        torch.testing.assert_close(mine, other, rtol=0, atol=atol)


@settings(max_examples=25, deadline=None)
@given(KINDS, LENGTHS, st.integers(1, 3), st.integers(0, 10**6))
def test_along_trees_it_equals_a_loop(
    draw_trees: Any, kind: str, lengths: list[int], trees: int, seed: int
) -> None:
    torch.manual_seed(seed)
    heads, sizes, of = draw_trees(kind, lengths, trees, seed)
    net, arcs = make(), hard_arcs(heads)
    x = torch.randn(len(sizes), heads.shape[1], 3, dtype=torch.float64, requires_grad=True)
    compare(net, x, arcs, sizes, of)
    # arcs that need a gradient use the dense path
    torch.testing.assert_close(
        net(x, arcs.clone().requires_grad_(), of, sizes), net(x, arcs, of, sizes)
    )


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 10**6))
def test_across_soft_arcs_it_equals_a_loop(lengths: list[int], seed: int) -> None:
    torch.manual_seed(seed)
    sizes, n = torch.tensor(lengths), max(lengths)
    x = torch.randn(len(lengths), n, 3, dtype=torch.float64, requires_grad=True)
    arcs = torch.rand(2 * len(lengths), n, n + 1, dtype=torch.float64, requires_grad=True)
    compare(make(root="zero"), x, arcs, sizes, torch.arange(len(lengths)).repeat(2))


def test_soft_arcs_without_a_gradient_are_not_rounded() -> None:
    torch.manual_seed(0)
    net, x, arcs = make(), torch.randn(1, 3, 3).double(), torch.rand(1, 3, 4).double()
    torch.testing.assert_close(net(x, arcs)[0], loop(net, x[0], arcs[0]))


def test_gradcheck() -> None:
    torch.manual_seed(0)
    net = make(steps=2)
    x = torch.randn(2, 3, 3, dtype=torch.float64, requires_grad=True)
    arcs = torch.rand(2, 3, 4, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([3, 2])

    def run(x: Tensor, arcs: Tensor, *parameters: Tensor) -> Tensor:
        return net(x, arcs, None, lengths)

    assert torch.autograd.gradcheck(run, (x, arcs, *net.parameters()))


@pytest.mark.parametrize("soft", [False, True])
def test_padding_is_not_read_and_gets_no_gradient(soft: bool) -> None:
    torch.manual_seed(0)
    net, lengths = make(), torch.tensor([4, 2])
    heads = torch.tensor([[0, 1, 1, 3], [2, 0, -1, -1]])
    arcs = hard_arcs(heads) * (0.5 if soft else 1.0)
    x = torch.randn(2, 4, 3, dtype=torch.float64)
    expected = net(x, arcs, None, lengths)
    x[1, 2:] = torch.nan
    arcs[1, 2:] = arcs[1, :, 3:] = torch.nan
    arcs[0, torch.arange(4), torch.arange(1, 5)] = torch.nan  # from a word to itself
    x.requires_grad_()
    arcs.requires_grad_(soft)
    out = net(x, arcs, None, lengths)
    torch.testing.assert_close(out, expected)
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert not x.grad[1, 2:].any()
    if soft:
        assert arcs.grad is not None
        assert arcs.grad.isfinite().all()


@pytest.mark.parametrize("estimator", [sp.SparseMAP(), sp.StraightThrough(), sp.Gibbs()], ids=repr)
def test_it_trains_on_a_posterior(estimator: sp.Estimator) -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 5, 6, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([5, 3])
    net, x = make(), torch.randn(2, 5, 3, dtype=torch.float64)
    post = estimator(scores, sp.DependencyTrees(), lengths)
    vectors = net.read(x, post)
    assert vectors.shape == (len(post.weights), 4)
    torch.testing.assert_close(vectors, net(x, post.parts.detach(), post.instance, lengths))
    post.expect(vectors).square().sum().backward()
    assert scores.grad is not None
    read = sp.DependencyTrees().reads(scores, lengths)
    if estimator.gradient_through == "parts":  # arcs outside the trees get a gradient too
        assert (scores.grad[0][read[0]] != 0).double().mean() > 0.8
    assert scores.grad.any()
    assert not scores.grad[~read].any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("soft", [False, True])
def test_autocast_and_narrow_dtypes(dtype: torch.dtype, soft: bool) -> None:
    torch.manual_seed(0)
    net, x = sp.nn.TreeMessages(8, 16, 2), torch.randn(2, 4, 8)
    arcs = torch.rand(2, 4, 5) if soft else hard_arcs(torch.tensor([[0, 1, 1, 3], [2, 0, 1, 1]]))
    expected = net(x, arcs)
    with torch.autocast("cpu", dtype=dtype):
        cast = net(x, arcs)
    assert cast.dtype == dtype
    torch.testing.assert_close(cast.float(), expected, rtol=0.1, atol=0.05)
    narrow = net.to(dtype)(x.to(dtype), arcs)
    assert narrow.dtype == dtype
    torch.testing.assert_close(narrow.float(), expected, rtol=0.1, atol=0.05)


def test_it_compiles_into_one_graph() -> None:
    torch.manual_seed(0)
    net, x = make(), torch.randn(2, 3, 3, dtype=torch.float64)
    arcs = hard_arcs(torch.tensor([[0, 1, 1], [2, 0, -1]]))
    torch._dynamo.reset()
    compiled = torch.compile(net, fullgraph=True, backend="aot_eager")
    lengths = torch.tensor([3, 2])
    torch.testing.assert_close(compiled(x, arcs, None, lengths), net(x, arcs, None, lengths))


def test_no_rows_no_states() -> None:
    net, x = sp.nn.TreeMessages(3, 4), torch.randn(1, 2, 3, requires_grad=True)
    for arcs in (torch.zeros(0, 2, 3), torch.zeros(0, 2, 3, requires_grad=True)):
        assert net(x, arcs, torch.zeros(0, dtype=torch.int64)).shape == (0, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sp.nn.TreeMessages(3, 4, 0), "steps must be at least 1"),
        (lambda: sp.nn.TreeMessages(3, 4, root="mean"), "'zero' or 'learned'"),  # type: ignore[arg-type]
        (lambda: make()(torch.zeros(2, 3, 4), torch.zeros(2, 3, 4)), r"\(\*batch, n, 3\)"),
        (
            lambda: make()(torch.zeros(2, 3, 3), torch.zeros(2, 3, 3)),
            r"arcs: expected.*\(T, 3, 4\)",
        ),
        (lambda: make()(torch.zeros(2, 3, 3), torch.zeros(2, 3, 4).long()), "arcs.*torch.int64"),
        (lambda: make()(torch.zeros(2, 3, 3), torch.zeros(3, 3, 4)), r"instance.*shape \(3,\)"),
        (
            lambda: make()(torch.zeros(2, 3, 3), torch.zeros(1, 3, 4), torch.tensor([2])),
            r"instance: expected 0 to 1, got \[2\]",
        ),
        (
            lambda: make()(torch.zeros(1, 3, 3), torch.zeros(1, 3, 4), None, torch.tensor([4])),
            r"lengths\[0\] is 4",
        ),
    ],
)
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
