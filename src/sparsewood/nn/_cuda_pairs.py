"""`MLPArcScorer` by the kernels of native/cuda/pairs.cuh, which never store the hidden layer."""

import torch
from torch import Tensor

from sparsewood._internal.cuda import Program, load

_KERNELS = tuple(
    f"pairs_{real}_{one}" for real in ("float32", "float64") for one in ("score", "backward")
)
_PROGRAM = Program('#include "cuda/pairs.cuh"', _KERNELS)
_THREADS = 128


def serves(heads: Tensor) -> bool:
    """Whether there are kernels for the device and dtype of `heads` (B, m, k)."""
    return (
        not torch.compiler.is_compiling()
        and heads.numel() > 0
        and load(_PROGRAM, heads.device) is not None
    )


def score_pairs(heads: Tensor, dependents: Tensor, v: Tensor) -> Tensor:
    """v^T tanh(heads + dependents) for all pairs: (B, m, k), (B, n, k), (k,) -> (B, n, m)."""
    (batch, m, size), n = heads.shape, dependents.shape[1]
    given = _as_read(heads, dependents, v)
    scores = given[0].new_empty(batch, n, m)
    _launch("score", batch * n, *given, scores, n, m, size)
    return scores.to(heads.dtype)


def backward_pairs(
    heads: Tensor, dependents: Tensor, v: Tensor, on_scores: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of the three arguments, given the gradient of the scores (B, n, m)."""
    (batch, m, size), n = heads.shape, dependents.shape[1]
    given = _as_read(heads, dependents, v, on_scores)
    on_heads, on_dependents, on_v = (
        torch.empty_like(given[0]),
        torch.empty_like(given[1]),
        torch.empty_like(given[1]),
    )
    found = (on_heads, on_dependents, on_v)
    _launch("backward", batch * (n + m), *given, *found, batch, n, m, size)
    dtype = heads.dtype
    return on_heads.to(dtype), on_dependents.to(dtype), on_v.sum((0, 1)).to(dtype)


def _as_read(*tensors: Tensor) -> list[Tensor]:
    real = torch.promote_types(tensors[0].dtype, torch.float32)
    return [tensor.to(real).contiguous() for tensor in tensors]


def _launch(kernel: str, blocks: int, first: Tensor, *arguments: Tensor | int) -> None:
    kernels = load(_PROGRAM, first.device)
    assert kernels is not None
    name = f"pairs_{str(first.dtype).rpartition('.')[2]}_{kernel}"
    kernels.launch(name, blocks, _THREADS, first, *arguments)
