"""A bidirectional LSTM by kernels, compared with PyTorch's."""

import pytest
import torch
from torch import Tensor, nn

from sparsewood._internal import cuda
from sparsewood.nn import _bilstm, _cuda_bilstm
from tests.emulator import ORDERS, EmulatedKernels

LENGTHS = [3, 1, 6, 4, 2]


def make(layers: int, dtype: torch.dtype, device: torch.device) -> tuple[nn.LSTM, Tensor, Tensor]:
    torch.manual_seed(0)
    lstm = nn.LSTM(4, 9, num_layers=layers, batch_first=True, bidirectional=True)
    x = torch.randn(len(LENGTHS), max(LENGTHS) + 1, 4)
    x = x.to(device, dtype).requires_grad_()
    return lstm.to(device, dtype), x, torch.tensor(LENGTHS, device=device)


def run(lstm: nn.LSTM, x: Tensor, lengths: Tensor) -> list[Tensor]:
    """The states, and the gradients of words and weights."""
    states = _bilstm.run_bilstm(lstm, x, lengths)
    vector = torch.linspace(-1, 1, states.numel(), device=x.device).view_as(states)
    return [states, *torch.autograd.grad(states, [x, *lstm.parameters()], vector.to(states.dtype))]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("together", [1, 2, 4])
def test_it_is_that_of_pytorch(
    together: int, dtype: torch.dtype, device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cuda_bilstm, "_TOGETHER", (together,))
    lstm, x, lengths = make(2, dtype, device)
    assert _cuda_bilstm.serves(x, lstm.hidden_size)
    ours = run(lstm, x, lengths)
    monkeypatch.setattr(_cuda_bilstm, "serves", lambda *_: False)
    with torch.backends.cudnn.flags(allow_tf32=False):  # its 10 bits are too imprecise
        expected = run(lstm, x, lengths)
    torch.testing.assert_close(ours, expected)
    assert (ours[0][1, 1:] == 0).all()


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_threads_does_not_matter(order: str) -> None:
    lstm, x, lengths = make(1, torch.float64, torch.device("cpu"))
    expected = run(lstm, x, lengths)
    with cuda.emulate(lambda program: EmulatedKernels(program, order)):
        torch.testing.assert_close(run(lstm, x, lengths), expected)


def test_the_number_of_sentences_of_a_block(device: torch.device) -> None:
    lstm, x, lengths = make(1, torch.float64, device)
    alone = _bilstm.run_bilstm(lstm, x[2:3], lengths[2:3])
    many = _bilstm.run_bilstm(lstm, x.repeat(30, 1, 1), lengths.repeat(30))
    torch.testing.assert_close(many[2::5], alone.expand(30, -1, -1))
    wide = torch.empty(1, 2, 4, device=device)
    assert not _cuda_bilstm.serves(wide, 10_000)
    assert not _cuda_bilstm.serves(wide.new_empty(0, 2, 4), 9)


def test_half_precision_and_second_derivatives(device: torch.device) -> None:
    lstm, x, lengths = make(1, torch.float32, device)
    exact = _bilstm.run_bilstm(lstm, x, lengths)
    with torch.autocast(device.type, torch.bfloat16):
        found = _bilstm.run_bilstm(lstm, x, lengths)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), exact, rtol=0, atol=0.03)
    found.float().sum().backward()
    assert x.grad is not None
    with pytest.raises(RuntimeError, match="differentiable once"):
        torch.autograd.grad(exact.sum(), x, create_graph=True)
