"""A bidirectional LSTM layer by the kernels of native/cuda/bilstm.cuh, one launch per pass.

cuDNN launches a few kernels per word of the longest sentence and direction, which dominates the
time of a step over a batch of usual size.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from sparsewood._internal.cuda import Program, load

_TOGETHER = (1, 2, 4)  # sentences per block for which there are kernels
_BLOCKS = 132  # blocks that run at the same time on a large GPU
_SHARED = 64 * 1024  # bytes of shared memory per block, available on any device
_LARGEST = 1024  # sentences; with more, matrix products at each step are faster

_PROGRAM = Program(
    '#include "cuda/bilstm.cuh"',
    tuple(
        f"bilstm_{real}_{way}_{together}"
        for real in ("float32", "float64")
        for way in ("up", "down")
        for together in _TOGETHER
    ),
)


def serves(x: Tensor, hidden: int) -> bool:
    """Whether the kernels support a layer of `hidden` units on x (B, n, d)."""
    if torch.compiler.is_compiling() or not 0 < len(x) <= _LARGEST:
        return False
    real = torch.promote_types(x.dtype, torch.float32)
    fits = real in (torch.float32, torch.float64) and _shared(1, hidden, real) <= _SHARED
    return fits and load(_PROGRAM, x.device) is not None


def run_layer(x: Tensor, lengths: Tensor, weights: Sequence[Sequence[Tensor]]) -> Tensor:
    """The states of a layer: (B, n, d) -> (B, n, 2 hidden), zero beyond the lengths.

    `weights` are W, U, b, b' of each direction, as in `nn.LSTM.all_weights`.
    """
    words, across, first, second = (torch.stack(pair) for pair in zip(*weights, strict=True))
    inputs = torch.nn.functional.linear(x, words.flatten(0, 1), (first + second).flatten())
    real = torch.promote_types(inputs.dtype, torch.float32)
    states: Any = _Recurrence.apply(inputs.to(real), across.to(real), lengths)[0]
    return states.to(inputs.dtype)


class _Recurrence(torch.autograd.Function):
    """(B, n, 8 hidden) inputs of all gates, (2, 4 hidden, hidden) weights -> (B, n, 2 hidden)."""

    @staticmethod
    def forward(inputs: Tensor, weight: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        batch, n, hidden = *inputs.shape[:2], weight.shape[2]
        states, previous = inputs.new_zeros(2, batch, n, 2 * hidden).unbind()
        kept = inputs.new_empty(batch, n, 2, 5 * hidden)
        across = weight.transpose(1, 2).contiguous()
        tensors = inputs.contiguous(), across, lengths.contiguous(), states, previous, kept
        _launch("up", inputs, hidden, *tensors)
        return states, previous, kept

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _, weight, lengths = inputs
        _, previous, kept = output
        ctx.mark_non_differentiable(previous, kept)
        ctx.save_for_backward(weight, lengths, previous, kept)

    @staticmethod
    def backward(ctx: Any, *on: Tensor) -> tuple[Tensor, Tensor, None]:
        # `once_differentiable` would miss derivatives through the saved tensors.
        if torch.is_grad_enabled():
            raise RuntimeError("the LSTM on a GPU is differentiable once: not with create_graph")
        weight, lengths, previous, kept = ctx.saved_tensors
        batch, n, hidden = *previous.shape[:2], weight.shape[2]
        on_inputs = kept.new_zeros(batch, n, 2, 4 * hidden)
        tensors = on[0].contiguous(), weight.contiguous(), lengths.contiguous(), kept, on_inputs
        _launch("down", kept, hidden, *tensors)
        rows, states = on_inputs.flatten(0, 1), previous.view(-1, 2, hidden)
        with torch.autocast(kept.device.type, enabled=False):
            on_weight = torch.bmm(rows.permute(1, 2, 0), states.transpose(0, 1))
        return on_inputs.flatten(2), on_weight, None


def _launch(way: str, like: Tensor, hidden: int, *tensors: Tensor) -> None:
    batch, n = like.shape[:2]
    fitting = [k for k in _TOGETHER if _shared(k, hidden, like.dtype) <= _SHARED]
    together = next((k for k in fitting if 2 * -(-batch // k) <= _BLOCKS), fitting[-1])
    kernels = load(_PROGRAM, like.device)
    assert kernels is not None
    kernels.launch(
        f"bilstm_{str(like.dtype).rpartition('.')[2]}_{way}_{together}",
        2 * -(-batch // together),
        min(1024, -(-4 * hidden // 32) * 32),
        *tensors,
        batch,
        n,
        hidden,
        shared=_shared(together, hidden, like.dtype),
    )


def _shared(together: int, hidden: int, real: torch.dtype) -> int:
    """Bytes of shared memory per block in the backward pass, which needs more."""
    return 10 * together * hidden * real.itemsize
