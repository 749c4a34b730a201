"""A bidirectional LSTM over sentences of unlike length, the quickest way on each device."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from sparsewood.nn import _lstm_steps
from sparsewood.nn._lstm_steps import BiLSTMLayer


def run_bilstm(lstm: nn.LSTM, x: Tensor, lengths: Tensor) -> Tensor:
    """The states of a bidirectional, batch-first `lstm`: (B, n, d) -> (B, n, 2 hidden).

    `lengths` (B,) is on the CPU. Padding is never read, and zero in the result. A sentence gets the
    states it would get alone.
    """
    return (_padded if x.device.type == "cpu" else _packed)(lstm, x, lengths)


def _packed(lstm: nn.LSTM, x: Tensor, lengths: Tensor) -> Tensor:
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    states, _ = lstm(packed)
    return pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])[0]


def _padded(lstm: nn.LSTM, x: Tensor, lengths: Tensor) -> Tensor:
    weights = iter(lstm.all_weights)
    for layer in range(lstm.num_layers):
        if layer > 0:
            x = nn.functional.dropout(x, lstm.dropout, lstm.training)
        parameters = (*next(weights), *next(weights))
        if _lstm_steps.serves(x, parameters):
            x = cast(Tensor, BiLSTMLayer.apply(x, lengths, _run_layer, *parameters))
        else:
            x = _run_layer(x, lengths, parameters)
    return x


def _run_layer(x: Tensor, lengths: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """Each direction over the padded batch, where padding comes last.

    The fused kernels of the CPU take no packed batch; with them this takes less than half of the
    time of the other, padding included.
    """
    position, last = torch.arange(x.shape[1]), lengths[:, None] - 1
    mirror = torch.where(position <= last, last - position, position)
    sentence = torch.arange(len(x))[:, None]
    half = len(weights) // 2
    start = x.new_zeros(1, len(x), weights[1].shape[1])
    forward, backward = (
        torch.lstm(y, (start, start), tuple(parameters), half > 2, 1, 0.0, True, False, True)[0]
        for y, parameters in ((x, weights[:half]), (x[sentence, mirror], weights[half:]))
    )
    x = torch.cat([forward, backward[sentence, mirror]], -1)
    return torch.where((position <= last)[..., None], x, 0)
