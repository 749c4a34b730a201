"""The kernels of `BetweenArcScorer` against its PyTorch path."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood._internal import cuda
from sparsewood.nn import _cuda_between
from tests.emulator import ORDERS, EmulatedKernels

SIZE = 5


def make(
    device: torch.device, dtype: torch.dtype, hidden: int = 37, channels: int = 4
) -> sp.nn.BetweenArcScorer:
    torch.manual_seed(0)
    scorer = sp.nn.BetweenArcScorer(SIZE, hidden, channels).to(device, dtype)
    torch.nn.init.normal_(scorer.step.weight, std=2.0)
    scorer.rounding = 1.0
    return scorer


def run(scorer: sp.nn.BetweenArcScorer, x: Tensor) -> list[Tensor]:
    """Scores and gradients; about half of the scores have a gradient."""
    scores = scorer(x)
    vector = torch.sin(1 + torch.arange(scores.numel(), device=x.device)).relu().view_as(scores)
    leaves = [x, *scorer.parameters()]
    return [scores, *torch.autograd.grad(scores, leaves, vector.to(scores))]


def run_by_pytorch(scorer: sp.nn.BetweenArcScorer, x: Tensor) -> list[Tensor]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cuda_between, "serves", lambda heads, prefixes: False)
        return run(scorer, x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("shape", "hidden", "channels"), [((2, 3, 4), 37, 4), ((1, 40), 150, 1)])
def test_it_is_that_of_pytorch(
    dtype: torch.dtype,
    device: torch.device,
    shape: tuple[int, ...],
    hidden: int,
    channels: int,
) -> None:
    scorer = make(device, dtype, hidden, channels)
    x = torch.randn(*shape, SIZE).to(device, dtype).requires_grad_()
    assert _cuda_between.serves(x, x.new_empty(1, 1, channels))
    half = dtype == torch.bfloat16
    for found, wanted in zip(run(scorer, x), run_by_pytorch(scorer, x), strict=True):
        assert found.dtype == wanted.dtype
        atol = 0.05 * wanted.abs().max().item() if half else 1e-4
        rtol = 0.0 if half else 1e-4 if dtype == torch.float32 else 1e-9
        torch.testing.assert_close(found, wanted, rtol=rtol, atol=atol)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    words=st.lists(
        st.lists(st.integers(-1, 1), min_size=SIZE, max_size=SIZE), min_size=1, max_size=20
    ),
    channels=st.integers(1, 6),
)
def test_equal_sums_have_the_same_gradient(
    device: torch.device, words: list[list[int]], channels: int
) -> None:
    scorer = make(device, torch.float64, 3, channels)
    x = torch.tensor(words, device=device, dtype=torch.float64).requires_grad_()
    torch.testing.assert_close(run(scorer, x), run_by_pytorch(scorer, x))


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_threads_does_not_matter(order: str) -> None:
    scorer = make(torch.device("cpu"), torch.float64)
    x = torch.randn(2, 19, SIZE).double().requires_grad_()
    expected = run(scorer, x)
    with cuda.emulate(lambda program: EmulatedKernels(program, order)):
        torch.testing.assert_close(run(scorer, x), expected)


def test_padding_an_empty_batch_and_second_derivatives(device: torch.device) -> None:
    scorer = make(device, torch.float64)
    assert scorer(torch.zeros(0, 4, SIZE, device=device).double()).shape == (0, 4, 5)
    x = torch.randn(1, 4, SIZE).to(device, torch.float64)
    padded = torch.cat([x, torch.full_like(x, torch.nan)], 1).requires_grad_()
    scores = scorer(padded)[:, :4, :5]
    torch.testing.assert_close(scores, scorer(x))
    scores.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in scorer.parameters())
    with pytest.raises(RuntimeError, match="differentiable once"):
        torch.autograd.grad(scorer(x.requires_grad_()).sum(), x, create_graph=True)


def test_many_channels_are_left_to_pytorch(device: torch.device) -> None:
    scorer = make(device, torch.float64, 3, channels=200)
    x = torch.randn(1, 3, SIZE).to(device, torch.float64).requires_grad_()
    torch.testing.assert_close(run(scorer, x), run_by_pytorch(scorer, x))
