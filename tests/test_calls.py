"""Counting inference calls."""

import threading
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.calls import Calls
from sparsewood.testing import draw_scores
from tests.seats import Seats

TREES = sp.DependencyTrees()


def scores() -> Tensor:
    return draw_scores("normal", 6, (4, 5), seed=0)


def counts(calls: Calls) -> tuple[int, int, int]:
    return calls.map, calls.sums, calls.samples


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda: sp.map(scores(), TREES), (6, 0, 0)),
        (lambda: sp.map(scores().reshape(2, 3, 4, 5), TREES), (6, 0, 0)),
        # One call for the next structure, and one for what is left after the previous one.
        (lambda: sp.kbest(scores(), TREES, 1), (6, 0, 0)),
        (lambda: sp.kbest(scores(), TREES, 2), (6 * 2, 0, 0)),
        (lambda: sp.kbest(scores(), TREES, 5), (6 * 8, 0, 0)),
        (lambda: sp.kbest(scores()[:, :1, :2], TREES, 3), (6, 0, 0)),
        # One pass over a chart.
        (lambda: sp.kbest(scores(), sp.DependencyTrees(projective=True), 5), (6, 0, 0)),
        (lambda: sp.marginals(scores(), TREES).marginals, (0, 6, 0)),
        (lambda: sp.marginals(scores(), TREES).sample(5), (0, 6, 30)),
        (lambda: sp.marginals(scores(), TREES).posterior(2), (0, 6, 12)),
        (lambda: sp.marginals(scores(), TREES).mode, (6, 6, 0)),
        (lambda: sp.crf_loss(scores(), sp.map(scores(), TREES).structures, TREES), (6, 6, 0)),
        (lambda: sp.hinge_loss(scores(), sp.map(scores(), TREES).structures, TREES), (12, 0, 0)),
        (lambda: sp.sample_matchings(scores()[..., :4], sp.Matching(), 3), (6, 0, 18)),
        (lambda: sp.map(scores()[:0], TREES), (0, 0, 0)),
        (lambda: sp.Gibbs()(scores(), TREES).parts, (0, 6, 0)),
        (lambda: sp.TopK(1)(scores(), TREES), (6, 0, 0)),
    ],
)
def test_what_each_call_counts(ask: Callable[[], object], expected: tuple[int, int, int]) -> None:
    with sp.count_calls() as calls:
        ask()
    assert counts(calls) == expected
    assert calls.total == sum(expected)


def test_sparsemap_counts_the_calls_of_its_solver() -> None:
    for structure, table in ((TREES, scores()), (Seats(), scores()[:, 0])):
        with sp.count_calls() as calls:
            post = sp.sparsemap(table, structure)
        assert counts(calls) == (int(post.calls.sum()), 0, 0)
        assert calls.map >= 6


def test_factors_are_asked_by_their_number() -> None:
    graph = sp.FactorGraph()
    x = graph.variables(4, 5)
    graph.add(TREES, x)
    graph.add(sp.AtMostOne(), x[:, 0])
    with sp.count_calls() as calls:
        sp.lp_sparsemap(scores(), graph)
    assert calls.map > 6


def test_nothing_is_counted_before_and_after() -> None:
    sp.map(scores(), TREES)
    with sp.count_calls() as calls:
        pass
    sp.map(scores(), TREES)
    assert counts(calls) == (0, 0, 0)


def test_one_inside_another() -> None:
    with sp.count_calls() as outer:
        sp.map(scores(), TREES)
        with sp.count_calls() as inner:
            sp.map(scores()[:2], TREES)
        sp.map(scores()[:1], TREES)
    assert (outer.map, inner.map) == (9, 2)


def test_it_ends_with_an_error() -> None:
    with pytest.raises(ValueError, match="scores"), sp.count_calls() as calls:
        sp.map(torch.zeros(2), TREES)
    sp.map(scores(), TREES)
    assert calls.total == 0


class _AskBackward(torch.autograd.Function):
    """Calls the oracle in its backward pass."""

    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: object, *grads: Tensor) -> Tensor:
        sp.map(grads[0], TREES)
        return grads[0]


def test_backward_and_other_threads() -> None:
    x = scores().requires_grad_()

    def run() -> None:
        sp.marginals(scores(), TREES)
        _AskBackward.apply(x).square().sum().backward()

    with sp.count_calls() as calls:
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counts(calls) == (24, 24, 0)


def test_inside_torch_func() -> None:
    with sp.count_calls() as calls:
        torch.func.grad(lambda x: sp.sparsemap(x, TREES).marginals.square().sum())(scores())
        torch.func.grad(lambda x: sp.marginals(x, TREES).log_partition.sum())(scores())
    assert calls.map == int(sp.sparsemap(scores(), TREES).calls.sum())
    assert calls.sums == 6


def test_a_compiled_graph_is_whole_and_counts_nothing() -> None:
    def run(x: Tensor) -> Tensor:
        return sp.sparsemap(x, TREES).marginals + sp.marginals(x, TREES).marginals

    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    with sp.count_calls() as calls:
        found = compiled(scores())
    assert calls.total == 0
    torch.testing.assert_close(found, run(scores()))


def test_what_a_device_counts_is_looked_at_when_it_is_asked_for() -> None:
    calls, late = Calls(), torch.tensor(3)
    calls.add("map", 2)
    calls.add("map", late)
    calls.add("sums", torch.tensor(4))
    late.fill_(5)  # as if computed later by the device
    assert counts(calls) == (7, 4, 0)
    late.fill_(9)
    assert calls.total == 11
    assert repr(calls) == "Calls(map=7, sums=4, samples=0)"
