"""Scores and gradients of a `BetweenArcScorer` by the kernels of native/cuda/between.cuh."""

import torch
from torch import Tensor

from sparsewood._internal.cuda import Program, load

_KERNELS = tuple(
    f"between_{real}_{one}"
    for real in ("float32", "float64")
    for one in ("score", "backward_left", "backward_right")
)
_PROGRAM = Program('#include "cuda/between.cuh"', _KERNELS)
_THREADS, _TILE = 128, 16  # native/cuda/between.cuh
_SHARED = 48 * 1024  # bytes of shared memory that every device offers a block
_BLOCKS = 2048  # maximum number of blocks with a table of gradients each


def serves(heads: Tensor, prefixes: Tensor) -> bool:
    """Whether there are kernels for heads (B, m, k), prefix sums (B, m, C) and their device."""
    return (
        not torch.compiler.is_compiling()
        and heads.numel() > 0
        and prefixes.shape[2] <= _THREADS
        and _shared(prefixes, heads.dtype, backward=True) <= _SHARED
        and load(_PROGRAM, heads.device) is not None
    )


def score_pairs(
    heads: Tensor, dependents: Tensor, prefixes: Tensor, table: Tensor, v: Tensor
) -> Tensor:
    """See `PairsBetween`."""
    given = _as_read(heads, dependents, prefixes, table, v)
    scores = given[0].new_empty(*dependents.shape[:2], heads.shape[1])
    shared = _shared(prefixes, heads.dtype, backward=False)
    _launch("score", heads.shape[:2].numel(), shared, *given, *_sizes(given), scores)
    return scores.to(heads.dtype)


def backward_pairs(
    heads: Tensor, dependents: Tensor, prefixes: Tensor, table: Tensor, v: Tensor, on_scores: Tensor
) -> tuple[Tensor, ...]:
    """The gradients of the first five arguments from those of the scores (B, n, n + 1)."""
    given = _as_read(heads, dependents, prefixes, table, v)
    (batch, m), channels = heads.shape[:2], prefixes.shape[2]
    on_scores = on_scores.to(given[0].dtype).contiguous()
    on_heads, on_dependents = map(torch.zeros_like, given[:2])
    # Each block adds up its own gradients in a fixed order, so the result is deterministic.
    each = max(1, min(m, _BLOCKS // batch))
    on_table = given[0].new_zeros(batch * each, len(table) + 1, len(v))  # the last row is that of v
    on_prefixes = prefixes.new_zeros(batch, each, m, channels)
    found = (on_heads, on_dependents, on_table, on_prefixes, each)
    transposed = given[3].t().contiguous()
    shared = _shared(prefixes, heads.dtype, backward=True)
    sizes = _sizes(given)
    _launch("backward_left", batch * each, shared, *given, *sizes, transposed, on_scores, *found)
    shared = _shared(prefixes, heads.dtype, backward=False)
    _launch("backward_right", batch * m, shared, *given, *sizes, on_scores, on_heads, on_dependents)
    dtype = heads.dtype
    whole = on_table.sum(0).to(dtype)
    return on_heads.to(dtype), on_dependents.to(dtype), on_prefixes.sum(1), whole[:-1], whole[-1]


def _as_read(
    heads: Tensor, dependents: Tensor, prefixes: Tensor, table: Tensor, v: Tensor
) -> list[Tensor]:
    real = torch.promote_types(heads.dtype, torch.float32)
    first = [heads.to(real), dependents.to(real), prefixes, table.to(real), v.to(real)]
    return [tensor.contiguous() for tensor in first]


def _sizes(given: list[Tensor]) -> tuple[int, int, int]:
    return given[1].shape[1], len(given[4]), given[2].shape[2]


def _shared(prefixes: Tensor, dtype: torch.dtype, *, backward: bool) -> int:
    """Size of `BetweenTile` in bytes."""
    real = torch.promote_types(dtype, torch.float32).itemsize
    values, on = 3 * prefixes.shape[2] * real, 2 * real
    if not backward:
        return _TILE * (values + on)
    return _TILE * (2 * values + on + (_THREADS + 1) * real + 3 * prefixes.shape[2] * 4)


def _launch(kernel: str, blocks: int, shared: int, first: Tensor, *arguments: Tensor | int) -> None:
    kernels = load(_PROGRAM, first.device)
    assert kernels is not None
    name = f"between_{str(first.dtype).rpartition('.')[2]}_{kernel}"
    kernels.launch(name, blocks, _THREADS, first, *arguments, shared=shared)
