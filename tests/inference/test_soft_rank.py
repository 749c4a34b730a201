"""Soft ranks and soft sorting, against a quadratic program over all orders."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.structures._permutahedron import pools_of
from sparsewood.testing import draw_scores, project
from tests.full import some_quick

BOTH = pytest.mark.parametrize("soft", [sp.soft_rank, sp.soft_sort])
ONE_QUICK = pytest.mark.parametrize("soft", some_quick([sp.soft_rank, sp.soft_sort]))
Soft = Callable[..., Tensor]


def orders(numbers: Tensor) -> Tensor:
    """All orders of some numbers, without repetitions."""
    everything = sp.Rankings().enumerate(len(numbers))
    return numbers.sort().values[everything - 1].unique(dim=0)


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
    temperature=st.sampled_from([0.1, 0.7, 1.0, 3.0]),
    kind=st.sampled_from(["normal", "integers", "equal"]),
)
def test_they_are_projections(n: int, seed: int, temperature: float, kind: str) -> None:
    values = 2 * draw_scores(kind, 1, (n,), seed)[0]
    ranks = torch.arange(1, n + 1).double()
    columns = sp.Rankings().enumerate(n).double()
    for sign, descending in ((1, False), (-1, True)):
        nearest = project(sign * values / temperature, columns)
        found = sp.soft_rank(values, temperature=temperature, descending=descending)
        torch.testing.assert_close(found, nearest, rtol=0, atol=1e-8)
        nearest = project(sign * ranks / temperature, orders(values))
        found = sp.soft_sort(values, temperature=temperature, descending=descending)
        torch.testing.assert_close(found, nearest, rtol=0, atol=1e-8)


def test_known_values() -> None:
    """Those of fast-soft-sort (Blondel et al. 2020), from its documentation."""
    values = torch.tensor([[5.0, 1.0, 2.0], [2.0, 1.0, 5.0]], dtype=torch.float64)
    same = partial(torch.testing.assert_close, rtol=0, atol=1e-14)
    same(sp.soft_sort(values), values.new_tensor([[5 / 3, 8 / 3, 11 / 3]] * 2))
    same(sp.soft_sort(values, temperature=0.1), values.new_tensor([[1.0, 2.0, 5.0]] * 2))
    soft = values.new_tensor([[3.0, 1.25, 1.75], [1.75, 1.25, 3.0]])
    same(sp.soft_rank(values, temperature=2.0), soft)
    same(sp.soft_rank(values), values.new_tensor([[3.0, 1.0, 2.0], [2.0, 1.0, 3.0]]))


@ONE_QUICK
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), descending=st.booleans())
def test_derivatives(soft: Soft, seed: int, descending: bool) -> None:
    values = draw_scores("normal", 2, (6,), seed).requires_grad_()

    def call(x: Tensor) -> Tensor:
        return soft(x, temperature=0.8, descending=descending)

    assert torch.autograd.gradcheck(call, values, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(call, values)
    ahead = torch.func.jacfwd(call)(values.detach())
    back = torch.func.jacrev(call)(values.detach())
    torch.testing.assert_close(ahead, back)


@BOTH
def test_any_batch_dimensions_and_dtypes(soft: Soft) -> None:
    values = draw_scores("normal", 6, (9,), seed=0)
    flat = soft(values)
    assert torch.equal(soft(values.reshape(2, 3, 9)), flat.reshape(2, 3, 9))
    assert torch.equal(soft(values[4]), flat[4])
    with pytest.raises(ValueError, match="torch.vmap"):
        torch.func.vmap(soft)(values)
    assert soft(values[:0]).shape == (0, 9)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        low = values.to(dtype)
        before = low.clone()
        assert torch.equal(soft(low), soft(low.double()).to(dtype))
        assert torch.equal(low, before)


@BOTH
def test_bad_values_are_refused(soft: Soft) -> None:
    bad = torch.zeros(2, 3, 4)
    for value in (torch.nan, torch.inf, -torch.inf):
        bad[1, 2, 0] = value
        with pytest.raises(ValueError, match=r"instance \(1, 2\): expected finite numbers"):
            soft(bad)
    with pytest.raises(ValueError, match="expected finite numbers"):
        soft(torch.ones(2), temperature=1e-320)
    for wrong in (torch.zeros(3, dtype=torch.int64), torch.zeros(()), torch.zeros(2, 0), [1.0]):
        with pytest.raises(ValueError, match="values: expected"):
            soft(wrong)
    for temperature in (0.0, -1.0, torch.nan, "1"):
        with pytest.raises(ValueError, match="temperature"):
            soft(torch.zeros(3), temperature=temperature)


@pytest.mark.full
@BOTH
def test_in_a_graph(soft: Soft) -> None:
    values = draw_scores("normal", 3, (7,), seed=1).requires_grad_()
    compiled = torch.compile(soft, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(values), soft(values))
    slopes = [torch.autograd.grad((f(values) ** 2).sum(), values)[0] for f in (compiled, soft)]
    torch.testing.assert_close(*slopes)


def test_the_operator() -> None:
    torch.library.opcheck(pools_of, (draw_scores("normal", 3, (7,), seed=1),))


def test_large_values_in_common_take_no_digits() -> None:
    values = torch.tensor([0.25, 3.0, 0.5, 0.5], dtype=torch.float64)
    torch.testing.assert_close(sp.soft_rank(values + 2.0**40), sp.soft_rank(values))


def test_many_items() -> None:
    values = draw_scores("normal", 2, (30_000,), seed=0)
    ranks = sp.soft_rank(values, temperature=1e-11)
    assert torch.equal(ranks, values.argsort().argsort().double() + 1)
    ranks = sp.soft_rank(values, temperature=1e-3)
    torch.testing.assert_close(ranks.sum(-1), torch.full((2,), 30_000 * 30_001 / 2).double())
