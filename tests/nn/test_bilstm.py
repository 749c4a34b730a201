"""A bidirectional LSTM over a padded batch equals the LSTM over packed sentences."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from sparsewood.nn._bilstm import run_bilstm

LENGTHS = torch.tensor([2, 5, 3])
GPU = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))
DEVICES = pytest.mark.parametrize("device", ["cpu", GPU])


def make(layers: int, device: str) -> tuple[nn.LSTM, torch.Tensor]:
    torch.manual_seed(0)
    lstm = nn.LSTM(4, 3, num_layers=layers, batch_first=True, bidirectional=True).double()
    x = torch.randn(3, 5, 4, dtype=torch.float64)
    return lstm.to(device), x.to(device).requires_grad_()


def packed(lstm: nn.LSTM, x: torch.Tensor) -> torch.Tensor:
    given = pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(lstm(given)[0], batch_first=True, total_length=x.shape[1])[0]


@DEVICES
@pytest.mark.parametrize("layers", [1, 2])
def test_the_padded_run_is_the_packed_one(layers: int, device: str) -> None:
    lstm, x = make(layers, device)
    leaves = [x, *lstm.parameters()]
    found, wanted = run_bilstm(lstm, x, LENGTHS.to(device)), packed(lstm, x)
    torch.testing.assert_close(found, wanted)
    vector = torch.randn_like(wanted)
    torch.testing.assert_close(
        torch.autograd.grad(found, leaves, vector), torch.autograd.grad(wanted, leaves, vector)
    )


@DEVICES
def test_a_sentence_gets_the_states_it_would_get_alone(device: str) -> None:
    lstm, x = make(1, device)
    states = run_bilstm(lstm, x, LENGTHS.to(device))
    assert states.shape == (3, 5, 6)
    for b, n in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(states[b, :n], lstm(x[b : b + 1, :n])[0][0])
        assert (states[b, n:] == 0).all()


@DEVICES
def test_dropout_between_layers_is_for_training(device: str) -> None:
    lstm, x = make(2, device)
    lstm.dropout = 0.5
    lengths = LENGTHS.to(device)
    assert not torch.equal(run_bilstm(lstm, x, lengths), run_bilstm(lstm, x, lengths))
    lstm.eval()
    x = x.detach()
    torch.testing.assert_close(run_bilstm(lstm, x, lengths), packed(lstm, x))
