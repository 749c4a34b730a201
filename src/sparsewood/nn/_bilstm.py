"""A bidirectional LSTM over sentences of unlike length, without sorting or packing them."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sparsewood.nn._cuda_bilstm import run_layer, serves

_LSTM = 2  # how cuDNN numbers the kinds of recurrent networks


def run_bilstm(lstm: nn.LSTM, x: Tensor, lengths: Tensor) -> Tensor:
    """The states of a bidirectional, batch-first `lstm`: (B, n, d) -> (B, n, 2 hidden).

    `lengths` (B,) is on the device of `x`. Padding is never read, and zero in the result. A
    sentence gets the states it would get alone.

    A GPU runs it by kernels of ours where it has them. Elsewhere each direction runs over the
    padded batch, where padding comes last: the backward one on sentences mirrored within their
    length. On the CPU, whose fused kernels take no packed batch, and by cuDNN, where packing costs
    launches and copies, that takes less than half of the time of a packed run, padding included.
    """
    if serves(x, lstm.hidden_size):
        return _by_kernels(lstm, x, lengths)
    batch, n = x.shape[:2]
    position, last = torch.arange(n, device=x.device), lengths[:, None] - 1
    inside = position <= last
    first = torch.arange(0, batch * n, n, device=x.device)[:, None]  # word of each sentence
    mirror = (first + torch.where(inside, last - position, position)).flatten()
    weights = iter(lstm.all_weights)
    for layer in range(lstm.num_layers):
        if layer > 0:
            x = nn.functional.dropout(x, lstm.dropout, lstm.training)
        forward = _run(lstm, x, next(weights))
        backward = _run(lstm, _reordered(x, mirror), next(weights))
        x = torch.cat([forward, _reordered(backward, mirror)], -1)
    return torch.where(inside[..., None], x, 0)


def _by_kernels(lstm: nn.LSTM, x: Tensor, lengths: Tensor) -> Tensor:
    for layer in range(lstm.num_layers):
        if layer > 0:
            x = nn.functional.dropout(x, lstm.dropout, lstm.training)
        x = run_layer(x, lengths, lstm.all_weights[2 * layer : 2 * layer + 2])
    return x


def _reordered(x: Tensor, index: Tensor) -> Tensor:
    """The vectors of all words of (B, n, d) in the order `index` (B n,)."""
    return x.flatten(0, 1).index_select(0, index).view(x.shape)


def _run(lstm: nn.LSTM, x: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """The states of one direction of one layer over (B, n, d): (B, n, hidden)."""
    start, size = x.new_zeros(1, len(x), lstm.hidden_size), lstm.hidden_size
    training = lstm.training
    if x.is_cuda and torch.backends.cudnn.is_acceptable(x):
        # What `torch.lstm` does there, but for a warning that the weights of one direction do not
        # lie side by side, where cuDNN wants them.
        packed = torch.cat([w.detach().flatten() for w in weights])
        return torch.ops.aten._cudnn_rnn(
            x, list(weights), len(weights), packed, start, start, _LSTM,
            size, 0, 1, True, 0.0, training, False, [], None,
        )[0]  # fmt: skip
    return torch.lstm(x, (start, start), tuple(weights), True, 1, 0.0, training, False, True)[0]
