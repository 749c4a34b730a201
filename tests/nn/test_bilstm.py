"""The two ways to run a bidirectional LSTM are one."""

import torch
from torch import nn

from sparsewood.nn._bilstm import _packed, _padded, run_bilstm

LENGTHS = torch.tensor([2, 5, 3])


def make(layers: int) -> tuple[nn.LSTM, torch.Tensor]:
    torch.manual_seed(0)
    lstm = nn.LSTM(4, 3, num_layers=layers, batch_first=True, bidirectional=True).double()
    return lstm, torch.randn(3, 5, 4, dtype=torch.float64, requires_grad=True)


def test_the_padded_run_is_the_packed_one() -> None:
    lstm, x = make(layers=2)
    leaves = [x, *lstm.parameters()]
    padded, packed = _padded(lstm, x, LENGTHS), _packed(lstm, x, LENGTHS)
    torch.testing.assert_close(padded, packed)
    vector = torch.randn_like(packed)
    torch.testing.assert_close(
        torch.autograd.grad(padded, leaves, vector), torch.autograd.grad(packed, leaves, vector)
    )


def test_a_sentence_gets_the_states_it_would_get_alone() -> None:
    lstm, x = make(layers=1)
    states = run_bilstm(lstm, x, LENGTHS)
    assert states.shape == (3, 5, 6)
    for b, n in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(states[b, :n], lstm(x[b : b + 1, :n])[0][0])
        assert (states[b, n:] == 0).all()
