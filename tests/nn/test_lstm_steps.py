"""A layer word by word is the layer of PyTorch, up to the second derivative."""

import pytest
import torch
from torch import Tensor, nn

from sparsewood.nn import _lstm_steps
from sparsewood.nn._bilstm import _run_layer, run_bilstm
from sparsewood.nn._lstm_steps import BiLSTMLayer

LENGTHS = [[2, 5, 3, 5, 1], [1], [4, 4], [1, 6]]


def make(lengths: list[int], hidden: int = 20) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Word vectors padded with NaN, lengths and the weights of both directions."""
    torch.manual_seed(0)
    lstm = nn.LSTM(4, hidden, bidirectional=True)
    x = torch.randn(len(lengths), 7, 4)
    for sentence, length in zip(x, lengths, strict=True):
        sentence[length:] = torch.nan
    return x.requires_grad_(), torch.tensor(lengths), [*lstm.parameters()]


def run(x: Tensor, lengths: Tensor, weights: list[Tensor]) -> Tensor:
    assert _lstm_steps.serves(x, weights)
    out = BiLSTMLayer.apply(x, lengths, _run_layer, *weights)
    assert isinstance(out, Tensor)
    return out


@pytest.mark.parametrize("lengths", LENGTHS)
def test_values_and_gradients(lengths: list[int]) -> None:
    x, counts, weights = make(lengths)
    clean = x.detach().nan_to_num().requires_grad_()
    ours, theirs = run(x, counts, weights), _run_layer(clean, counts, weights)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    assert all((out[length:] == 0).all() for out, length in zip(ours, lengths, strict=True))
    vector = torch.randn_like(ours)
    first, again = (
        torch.autograd.grad(ours, [x, *weights], vector, retain_graph=True) for _ in range(2)
    )
    expected = torch.autograd.grad(theirs, [clean, *weights], vector)
    for a, b, c in zip(first, again, expected, strict=True):
        torch.testing.assert_close(a, c, rtol=1e-4, atol=1e-6)
        assert torch.equal(a, b)


def test_a_second_derivative() -> None:
    x, counts, weights = make([3, 7])
    x = x.detach().nan_to_num().requires_grad_()
    found = []
    for out in (run(x, counts, weights), _run_layer(x, counts, weights)):
        first = torch.autograd.grad(out.square().sum(), [x, *weights], create_graph=True)
        total = torch.stack([one.square().sum() for one in first]).sum()
        found.append(torch.autograd.grad(total, [x, *weights]))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_what_does_not_learn_gets_no_gradient() -> None:
    x, counts, weights = make([3, 7])
    frozen = [weight.detach() for weight in weights[:4]] + weights[4:]
    run(x.detach(), counts, frozen).sum().backward()
    assert x.grad is None
    assert all(weight.grad is not None for weight in weights[4:])
    assert all(weight.grad is None for weight in weights[:4])


def test_other_layers_are_left_to_pytorch() -> None:
    x, _, weights = make([3, 7])
    assert not _lstm_steps.serves(x.double(), [weight.double() for weight in weights])
    assert not _lstm_steps.serves(x, weights[:4])  # without biases
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not _lstm_steps.serves(x, weights)


def test_transforms_of_functions() -> None:
    x, counts, _ = make([3, 7])
    lstm = nn.LSTM(4, 20, bidirectional=True, batch_first=True)
    clean = x.detach().nan_to_num()

    def total(x: Tensor) -> Tensor:
        return run_bilstm(lstm, x, counts).square().sum()

    expected = clean.clone().requires_grad_()
    total(expected).backward()
    torch.testing.assert_close(torch.func.grad(total)(clean), expected.grad)
