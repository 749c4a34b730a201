"""CUDA kernels of SparseMAP, its Jacobian and the k best structures.

A function returns None if an instance has no answer; the host then finds and raises the error.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood._internal import cuda
from sparsewood.inference._solution import Solution
from sparsewood.structures import _kernels as families
from sparsewood.structures._kernels import KernelBatch

_JACOBIAN = cuda.Program('#include "cuda/jacobian.cuh"\n', ("offsets", "jacobian"))
_TALLY_THREADS = 256  # kTallyThreads in native/cuda/tally.cuh
_WRITE_THREADS = 128
# One warp updates a factor: with as many structures as on a CPU it would take hours.
MOST_STRUCTURES = 1 << 13
_FEW = 0.02  # fraction of instances that may need more memory than the first allocation
# Active-set capacity that similar batches needed.
_rooms: dict[tuple[object, ...], int] = {}


class Limits(NamedTuple):
    """When to stop; 0 means no cap."""

    tol: float
    max_active: int
    max_iter: int


def solve(batch: KernelBatch, event: int, temperature: Tensor, limits: Limits) -> Solution | None:
    """SparseMAP of each instance; a structure has `event` numbers, `temperature` is (B,) float64.

    The host synchronises with the device once, plus once for each time that instances need more
    memory.
    """
    temperature = temperature.to(torch.float64)
    kept, active, *_ = _measure(batch, limits)
    turn = families.at_once(kept + active, len(batch), batch.scores.device)
    if turn < len(batch):
        return _in_turns(batch, event, temperature, limits, turn)
    return _solve_at_once(batch, event, temperature, limits)


def _key(batch: KernelBatch, limits: Limits) -> tuple[object, ...]:
    return batch.program, batch.layout, limits.max_active


def _measure(batch: KernelBatch, limits: Limits) -> tuple[int, ...]:
    room = _rooms.get(_key(batch, limits), 0)
    return batch.measure(limits.max_active, room)


def _in_turns(
    batch: KernelBatch, event: int, temperature: Tensor, limits: Limits, turn: int
) -> Solution | None:
    """`solve` in chunks of instances."""
    blocks = []
    for begin in range(0, len(batch), turn):
        some = batch.part(begin, begin + turn)
        found = solve(some, event, temperature[begin : begin + turn], limits)
        if found is None:
            return None
        blocks.append(found)
    width = max(block.used.shape[1] for block in blocks)
    wide = (pad(block.used, (0, width - block.used.shape[1]), value=-1) for block in blocks)
    blocks = [block._replace(used=used) for block, used in zip(blocks, wide, strict=True)]
    return Solution(*(torch.cat(tables) for tables in zip(*blocks, strict=True)))


def _solve_at_once(
    batch: KernelBatch, event: int, temperature: Tensor, limits: Limits
) -> Solution | None:
    count, device = len(batch), batch.scores.device
    kept, active, room, threads = _measure(batch, limits)
    sizes, status, calls = (_whole(device, count) for _ in range(3))
    gap, totals = _real(device, count), _whole(device, 5)
    # Every torch call costs as much as a launch, so desks and offsets share one allocation.
    parts = prod(batch.scores.shape[1:])
    desks = _bytes(device, count * (kept + 32 + 8 * parts * batch.narrow))
    offsets = desks.data_ptr() + count * kept
    widths, first, packed, pending, sums = (offsets + 8 * count * row for row in range(5))
    rooms: list[Tensor] = []  # earlier allocations hold the instances that finished there
    total = entries = width = 0
    left = count
    while left:
        resumed = pending if rooms else 0
        rooms.append(_bytes(device, left * active))
        memory = desks, kept, rooms[-1], active, room, resumed
        results = sizes, widths, status, calls, gap
        strided = temperature, temperature.stride(0)
        given = *batch.arguments, *strided, *limits, MOST_STRUCTURES, *memory, *results
        batch.kernels.launch("solve", left, threads, *given)
        found = sizes, widths, status, count, first, packed, pending, totals
        batch.kernels.launch("tally", 1, _TALLY_THREADS, *found)
        total, entries, width, left, failed = totals.tolist()
        if failed:
            return None
        if left:
            room *= 2
            if left > _FEW * count:
                _rooms[_key(batch, limits)] = room
            active = batch.measure(limits.max_active, room)[1]
            if families.at_once(active, left, device) < left and count > 1:
                return _in_turns(batch, event, temperature, limits, (count + 1) // 2)
    structures, used = _whole(device, total, event), _whole(device, total, width)
    weights, factor = batch.scores.new_empty(total), _real(device, entries)
    marginals = batch.scores.new_empty(count, parts)
    out = event, width, parts, structures, weights, used, factor, marginals
    given = desks, kept, first, packed, *out, sums if batch.narrow else 0
    batch.kernels.launch("write_solutions", count, _WRITE_THREADS, *given)
    return Solution(
        weights=weights,
        marginals=marginals,
        structures=structures,
        sizes=sizes,
        gap=gap,
        status=status,
        factor=factor,
        used=used,
        calls=calls,
        canonical=sizes.new_zeros(count, dtype=torch.bool),
        temperature=temperature.clone(),
        tie=sizes.new_empty(count, 0),
    )


def _real(device: torch.device, *shape: int) -> Tensor:
    return torch.empty(shape, dtype=torch.float64, device=device)


def _whole(device: torch.device, *shape: int) -> Tensor:
    return torch.empty(shape, dtype=torch.int64, device=device)


def _bytes(device: torch.device, count: int) -> Tensor:
    return torch.empty(count, dtype=torch.uint8, device=device)


class Ranked(NamedTuple):
    """The best structures of each instance, best first; the last is repeated if fewer than k."""

    structures: Tensor  # (B, k, *event) int64
    scores: Tensor  # (B, k) float64, -inf for repetitions
    calls: Tensor  # (B,) int64, number of oracle calls


def kbest(batch: KernelBatch, event: tuple[int, ...], k: int) -> Ranked | None:
    """The `k` best structures of each instance, and their scores."""
    share, threads, *_ = batch.measure(k)
    turn = families.at_once(share, len(batch), batch.scores.device)
    structures = batch.scores.new_empty(len(batch), k, *event, dtype=torch.int64)
    totals = batch.scores.new_empty(len(batch), k, dtype=torch.float64)
    calls = structures.new_empty(len(batch))
    failed = torch.zeros(1, dtype=torch.int64, device=batch.scores.device)
    memory = failed.new_empty(turn * share, dtype=torch.uint8)
    for begin in range(0, len(batch), turn):
        some = batch.part(begin, begin + turn)
        out = prod(event), structures[begin:], totals[begin:], calls[begin:], failed
        batch.kernels.launch("kbest", len(some), threads, *some.arguments, k, memory, share, *out)
    return None if failed.item() else Ranked(structures, totals, calls)


def jacobian(
    used: Tensor, sizes: Tensor, factor: Tensor, on_weights: Tensor, on_parts: Tensor
) -> tuple[Tensor, Tensor] | None:
    """See `_derivatives.jacobian`; does not synchronise. None: no kernels for this device."""
    kernels = cuda.load(_JACOBIAN, factor.device)
    if kernels is None:
        return None
    if len(on_weights) != len(used) or len(on_parts) != len(sizes):
        raise ValueError("the gradient does not match the posterior")
    out = _real(factor.device, *on_weights.shape), _real(factor.device, *on_parts.shape)
    cells = on_parts.shape[1]
    _apply(kernels, (used, sizes, factor), on_weights, on_parts, cells, out, (0, 0, 0, 0))
    return out


def score_gradient(
    support: Sequence[Tensor],
    on_weights: Tensor | None,
    on_marginals: Tensor | None,
    temperature: Tensor,
    shape: torch.Size,
    dtype: torch.dtype,
) -> Tensor | None:
    """The gradient of scores of this shape and dtype at `temperature` (B,), in one launch."""
    used, sizes, factor = support
    kernels = cuda.load(_JACOBIAN, factor.device)
    if kernels is None or dtype not in (torch.float32, torch.float64):
        return None
    cells = prod(shape[1:])
    scratch = _real(factor.device, len(used) + len(sizes) * cells)
    out = scratch, scratch.data_ptr() + 8 * len(used)
    gradient = torch.empty(shape, dtype=dtype, device=factor.device)
    scores = gradient, int(dtype == torch.float32), temperature, temperature.stride(0)
    _apply(kernels, (used, sizes, factor), on_weights, on_marginals, cells, out, scores)
    return gradient


def _apply(
    kernels: cuda.Kernels,
    support: tuple[Tensor, Tensor, Tensor],
    on_weights: Tensor | None,
    on_parts: Tensor | None,
    cells: int,
    out: tuple[cuda.Argument, cuda.Argument],
    scores: tuple[cuda.Argument, ...],
) -> None:
    used, sizes, factor = (table.contiguous() for table in support)
    total, count = len(used), len(sizes)
    scratch = _bytes(factor.device, 16 * count + 8 * total)
    first = scratch.data_ptr()
    packed, ones = first + 8 * count, first + 16 * count
    kernels.launch("offsets", 1, _TALLY_THREADS, sizes, count, first, packed)
    given = *_numbers(on_weights), *_numbers(on_parts), cells, *out, ones, *scores
    at = used, total, used.shape[1], sizes, first, packed, factor, len(factor)
    kernels.launch("jacobian", count, 32, *at, *given)


def _numbers(table: Tensor | None) -> tuple[cuda.Argument, int]:
    """`Numbers` in native/cuda/numbers.cuh."""
    if table is None:
        return 0, 0
    if table.dtype != torch.float32:
        table = table.to(torch.float64)
    return table.contiguous(), int(table.dtype == torch.float32)
