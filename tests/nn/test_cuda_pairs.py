"""The arc scorer by kernels, compared with PyTorch."""

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood._internal import cuda
from sparsewood.nn import _cuda_pairs
from tests.emulator import ORDERS, EmulatedKernels


def run(scorer: sp.nn.MLPArcScorer, x: Tensor) -> list[Tensor]:
    scores = scorer(x)
    vector = torch.linspace(-1, 1, scores.numel(), device=x.device).view_as(scores)
    return [scores, *torch.autograd.grad(scores, [x, *scorer.parameters()], vector.to(scores))]


def make(dtype: torch.dtype, device: torch.device) -> tuple[sp.nn.MLPArcScorer, Tensor]:
    torch.manual_seed(0)
    scorer = sp.nn.MLPArcScorer(5, 37).to(device, dtype)
    return scorer, torch.randn(2, 3, 4, 5).to(device, dtype).requires_grad_()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_it_is_that_of_pytorch(
    dtype: torch.dtype, device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer, x = make(dtype, device)
    assert _cuda_pairs.serves(x)
    ours = run(scorer, x)
    monkeypatch.setattr(_cuda_pairs, "serves", lambda heads: False)
    expected = run(scorer, x)
    half = dtype == torch.bfloat16
    for found, wanted in zip(ours, expected, strict=True):
        assert found.dtype == wanted.dtype
        atol = 0.05 * wanted.abs().max().item() if half else None
        torch.testing.assert_close(found, wanted, rtol=0 if half else None, atol=atol)


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_threads_does_not_matter(order: str) -> None:
    scorer, x = make(torch.float64, torch.device("cpu"))
    expected = run(scorer, x)
    with cuda.emulate(lambda program: EmulatedKernels(program, order)):
        torch.testing.assert_close(run(scorer, x), expected)


def test_an_empty_batch_and_second_derivatives(device: torch.device) -> None:
    scorer, x = make(torch.float64, device)
    assert scorer(x.new_empty(0, 4, 5)).shape == (0, 4, 5)
    with pytest.raises(RuntimeError, match="differentiable once"):
        torch.autograd.grad(scorer(x).sum(), x, create_graph=True)
