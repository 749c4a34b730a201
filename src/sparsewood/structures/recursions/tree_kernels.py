"""Sums over spanning trees on a GPU: `native/cuda/tree_sums.cuh`, one block per sentence."""

import torch
from torch import Tensor

from sparsewood._internal.cuda import Kernels, Program, load
from sparsewood._internal.lengths import lengths_or_full

_PROGRAM = Program('#include "cuda/tree_sums.cuh"', ("tree_sums", "tree_hessian"))
_THREADS = 512  # maximum per block
_WORDS = 128  # with more words, linear algebra on the whole GPU is faster than one block


def tree_kernels(scores: Tensor) -> Kernels | None:
    """The kernels for `scores`. None: there are none, or they would be slow."""
    return load(_PROGRAM, scores.device) if scores.shape[1] <= _WORDS else None


def sums(
    kernels: Kernels, scores: Tensor, lengths: Tensor | None, single_root: bool
) -> tuple[Tensor, Tensor]:
    """Log-sums (B,) and marginals of scores (B, n, n + 1)."""
    scores = scores.contiguous()
    batch, _, width = scores.shape
    log_sums, marginals = scores.new_empty(batch), torch.empty_like(scores)
    results = [torch.empty_like(scores), scores.new_empty(batch, 3, width), log_sums, marginals]
    _launch(kernels, "tree_sums", [scores], lengths, single_root, results)
    return log_sums, marginals


def hessian(
    kernels: Kernels, scores: Tensor, lengths: Tensor | None, single_root: bool, along: Tensor
) -> Tensor:
    """The directional derivative of the marginals along `along`, all (B, n, n + 1)."""
    scores = scores.contiguous()
    batch, n, width = scores.shape
    product = torch.empty_like(scores)
    tables, vectors = scores.new_empty(batch, 3, n, width), scores.new_empty(batch, 5, width)
    inputs = [scores, along.contiguous()]
    _launch(kernels, "tree_hessian", inputs, lengths, single_root, [tables, vectors, product])
    return product


def _launch(
    kernels: Kernels,
    name: str,
    inputs: list[Tensor],
    lengths: Tensor | None,
    single_root: bool,
    results: list[Tensor],
) -> None:
    batch, n, _ = inputs[0].shape
    width = 8 if n <= 32 else 16  # lanes per row
    threads = min(_THREADS, -(-n * width // 32) * 32)
    sizes = (n, int(single_root), width)
    lengths = lengths_or_full(lengths, inputs[0])
    kernels.launch(name, batch, threads, *inputs, lengths, *sizes, *results)
