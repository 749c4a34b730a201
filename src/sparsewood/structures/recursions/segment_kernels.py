"""Sums over segmentations on a GPU: `native/cuda/segment_*.cuh`, one block per instance.

Scores are (B, T, K, D + K) as in `semi_markov`. A chain is a segmentation whose segments have
length 1; its scores have the same layout.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood._internal.cuda import Kernels, Program, load
from sparsewood._internal.transforms import is_transformed
from sparsewood.structures.recursions.shifted import Shifted

_PROGRAM = Program(
    '#include "cuda/segment_shift.cuh"\n#include "cuda/segment_sums.cuh"',
    ("segment_shift", "segment_sums", "segment_hessian"),
)
_THREADS = 512  # maximum per block


class Tables(NamedTuple):
    """Intermediate results that `hessian` reuses."""

    starts: Tensor  # (B, T, K) log-sums of prefixes that end where a segment of label k starts
    ends: Tensor  # (B, T + 1, K) of prefixes that end with a segment of label k before t
    slopes: Tensor  # (B, T + 1, K) the derivatives of the total with respect to `ends`


def segment_kernels(scores: Tensor) -> Kernels | None:
    """The kernels for `scores`. None: use the recursions in PyTorch."""
    return None if is_transformed(scores) else load(_PROGRAM, scores.device)


def shift(kernels: Kernels, scores: Tensor, lengths: Tensor, longest: int) -> Shifted:
    """`chain.shift_chain` or `semi_markov.shift_segments`, in place: see `shifted.shift_arcs`."""
    scores = scores.contiguous()
    shared = scores.new_empty(len(scores))
    starts, ends, _ = _tables(scores)
    results = [starts, ends, scores.new_empty(len(scores), 2, scores.shape[1]), shared]
    _launch(kernels, "segment_shift", scores, longest, [scores, lengths], results)
    return Shifted(scores, shared)


def sums(
    kernels: Kernels, scores: Tensor, lengths: Tensor, longest: int
) -> tuple[Tensor, Tensor, Tables]:
    """Log-sums (B,), marginals with the shape of `scores`, and the tables for `hessian`."""
    scores = scores.contiguous()
    log_sums, marginals, tables = scores.new_empty(len(scores)), _like(scores), _tables(scores)
    results = [*tables, log_sums, marginals]
    _launch(kernels, "segment_sums", scores, longest, [scores, lengths], results)
    return log_sums, marginals, tables


def hessian(
    kernels: Kernels, scores: Tensor, lengths: Tensor, longest: int, tables: Tables, along: Tensor
) -> Tensor:
    """The directional derivative of the marginals along `along`, with the shape of `scores`."""
    scores = scores.contiguous()
    product = _like(scores)
    inputs = [scores, along.contiguous(), lengths]
    results = [*tables, *map(_like, tables), product]
    _launch(kernels, "segment_hessian", scores, longest, inputs, results)
    return product


def _like(table: Tensor) -> Tensor:
    return torch.empty_like(table, memory_format=torch.contiguous_format)


def _tables(scores: Tensor) -> Tables:
    batch, positions, labels, _ = scores.shape
    starts = scores.new_empty(batch, positions, labels)
    ends, slopes = scores.new_empty(2, batch, positions + 1, labels).unbind()
    return Tables(starts, ends, slopes)


def _launch(
    kernels: Kernels,
    name: str,
    scores: Tensor,
    longest: int,
    inputs: list[Tensor],
    results: list[Tensor],
) -> None:
    batch, positions, labels, _ = scores.shape
    width = min(32, 1 << (labels // 2).bit_length())  # lanes per row
    threads = min(_THREADS, -(-labels * width // 32) * 32)
    sizes = (positions, labels, longest, width)
    kernels.launch(name, batch, threads, *inputs, *sizes, *results)
