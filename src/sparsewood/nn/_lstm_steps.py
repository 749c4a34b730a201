"""One layer of a bidirectional LSTM on the CPU, stepping over word positions.

Sentences are sorted by decreasing length. The words at position t (in reading direction) of all
sentences that have one are in consecutive rows. No padding is computed; `W x` and the gradients of
the parameters are one matrix product each.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sparsewood import _native

Layer = Callable[[Tensor, Tensor, Sequence[Tensor]], Tensor]


def serves(x: Tensor, weights: Sequence[Tensor]) -> bool:
    """Whether a layer is supported: float32 on the CPU, with biases.

    PyTorch's LSTM is used in compiled graphs, under autocast and in transforms of `torch.func`.
    """
    return (
        len(weights) == 8
        and all(t.dtype == torch.float32 and t.device.type == "cpu" for t in (x, *weights))
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and not torch._C._are_functorch_transforms_active()
    )


class _Rows(NamedTuple):
    """The row of each word of a padded batch."""

    starts: Tensor  # (longest + 1,) the first row of each position
    words: tuple[Tensor, Tensor]  # (rows,) each direction's words as flat indices into (B, n)
    states: Tensor  # (2 rows,) both directions, as flat indices into (B, n, 2)
    before: Tensor  # (rows of all but first words,) the row of the previous word

    @property
    def sizes(self) -> list[int]:
        """How many sentences have a word at each position."""
        return self.starts.diff().tolist()


def _make_rows(lengths: Tensor, n: int) -> _Rows:
    lengths, order = lengths.sort(descending=True, stable=True)
    step = torch.arange(int(lengths[0]))[:, None]
    inside = step < lengths
    starts = torch.cat([step.new_zeros(1), inside.sum(1).cumsum(0)])
    first = order * n
    forward, backward = (
        words.expand_as(inside)[inside] for words in (first + step, first + lengths - 1 - step)
    )
    before = (starts[:-2, None] + torch.arange(len(lengths)))[inside[1:]]
    states = torch.cat([2 * forward, 2 * backward + 1])
    return _Rows(starts, (forward, backward), states, before)


class BiLSTMLayer(torch.autograd.Function):
    """(B, n, d) -> (B, n, 2 hidden), zero beyond the lengths.

    The weights are W, U and the two biases of the forward direction, then of the backward
    direction. Differentiable gradients are computed by `layer`, the same function in PyTorch.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, lengths: Tensor, layer: Layer, *weights: Tensor) -> Tensor:
        batch, n, _ = x.shape
        rows, flat = _make_rows(lengths, n), x.detach().flatten(0, 1)
        hidden = weights[1].shape[1]
        count = len(rows.words[0])
        gates, h = x.new_empty(2, count, 4 * hidden), x.new_empty(2, count, hidden)
        c = torch.empty_like(h)
        for which in range(2):
            W, _, b, recurrent_b = (w.detach() for w in weights[4 * which : 4 * which + 4])
            vectors = flat.index_select(0, rows.words[which])
            torch.addmm(b + recurrent_b, vectors, W.t(), out=gates[which])
        # Products of few rows are faster if the matrix is contiguous in reading order.
        across = [weights[at].detach().t().contiguous() for at in (1, 5)]
        run = _native.lstm_up_steps(rows.starts.numpy(), gates.numpy(), c.numpy(), h.numpy())
        sizes = rows.sizes
        by_word = [(gates[d].split(sizes), h[d].split(sizes), across[d]) for d in range(2)]
        for t, size in enumerate(sizes):
            if t > 0:
                for gates_of, h_of, matrix in by_word:
                    gates_of[t].addmm_(h_of[t - 1][:size], matrix)
            run(t)
        out = x.new_zeros(2 * batch * n, hidden).index_copy_(0, rows.states, h.flatten(0, 1))
        ctx.save_for_backward(x, lengths, *weights, gates, h, c)
        ctx.rows, ctx.layer = rows, layer
        return out.view(batch, n, 2 * hidden)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (on_out,) = gradients
        x, lengths, *weights, gates, h, c = ctx.saved_tensors
        if torch.is_grad_enabled():
            out = ctx.layer(x, lengths, weights)
            inputs = [t for t in (x, *weights) if t.requires_grad]
            found = iter(torch.autograd.grad(out, inputs, on_out, create_graph=True))
            on_x, *on_weights = (next(found) if t.requires_grad else None for t in (x, *weights))
            return on_x, None, None, *on_weights
        rows: _Rows = ctx.rows
        hidden = h.shape[2]
        on_h = on_out.reshape(-1, hidden).index_select(0, rows.states).view_as(h)
        on_gates = _pass_down(rows, weights, gates, c, on_h)
        flat = x.flatten(0, 1)
        on_x = torch.zeros_like(flat) if ctx.needs_input_grad[0] else None
        on_weights: list[Tensor | None] = []
        first = rows.starts[1]
        for which in range(2):
            on, words = on_gates[which], rows.words[which]
            if on_x is not None:
                on_x.index_add_(0, words, on @ weights[4 * which])
            if any(ctx.needs_input_grad[3 + 4 * which : 7 + 4 * which]):
                on_bias = on.sum(0)
                on_weights += [
                    on.t() @ flat.index_select(0, words),
                    on[first:].t() @ h[which].index_select(0, rows.before),
                    on_bias,
                    on_bias.clone(),
                ]
            else:
                on_weights += [None] * 4
        return None if on_x is None else on_x.view_as(x), None, None, *on_weights


def _pass_down(
    rows: _Rows, weights: Sequence[Tensor], gates: Tensor, c: Tensor, on_h: Tensor
) -> Tensor:
    """The gradients of the gates of all words, given the gradients of their states."""
    sizes, hidden = rows.sizes, c.shape[2]
    on_gates = torch.empty_like(gates)
    by_h, by_c = (c.new_zeros(2, sizes[0], hidden) for _ in range(2))
    tensors = (rows.starts, gates, c, on_h, by_h, by_c, on_gates)
    run = _native.lstm_down_steps(*(tensor.detach().numpy() for tensor in tensors))
    by_word = [(on_gates[d].split(sizes), by_h[d], weights[4 * d + 1].detach()) for d in range(2)]
    for t in range(len(sizes) - 1, -1, -1):
        run(t)
        if t > 0:
            for on_gates_of, by, matrix in by_word:
                torch.mm(on_gates_of[t], matrix, out=by[: sizes[t]])
    return on_gates
