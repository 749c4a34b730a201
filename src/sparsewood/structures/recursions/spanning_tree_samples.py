"""Exact samples of non-projective dependency trees: `native/sums/tree_samples.h`.

Where weights underflow on the way, heads are drawn from their marginals given the heads drawn so
far, which `elimination` computes for all scores.
"""

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._internal.cuda import Kernels, Program, load
from sparsewood._internal.lengths import lengths_or_full
from sparsewood._internal.threads import get_num_threads
from sparsewood.structures._kernels import at_once
from sparsewood.structures.recursions.chart_sums import draw_seeds
from sparsewood.structures.recursions.elimination import eliminate
from sparsewood.structures.recursions.totals import FORBIDDEN

_PROGRAM = Program('#include "cuda/tree_samples.cuh"', ("tree_samples",))
_LANES = 32  # of a warp


def sample_spanning_trees(
    scores: Tensor,
    lengths: Tensor | None,
    single_root: bool,
    samples: int,
    generator: torch.Generator | None,
) -> Tensor:
    """Trees of each sentence by their heads: (B, n, n + 1) -> (samples, B, n), -1 at padding."""
    n = scores.shape[1]
    scores, lengths = scores.detach().contiguous(), lengths_or_full(lengths, scores)
    seeds = draw_seeds(scores, samples, generator)
    kernels = load(_PROGRAM, scores.device)
    if kernels is None:
        found = _by_host(scores.cpu(), lengths.cpu(), seeds.cpu(), single_root)
        heads, good = (x.to(scores.device) for x in found)
    else:
        heads, good = _by_kernels(kernels, scores, lengths, seeds, single_root)
    if not good.all():
        k, rows = (~good).nonzero(as_tuple=True)
        heads[k, rows] = _by_elimination(scores[rows], lengths[rows], single_root, generator)
    padding = torch.arange(n, device=scores.device) >= lengths[:, None]
    return heads.masked_fill_(padding, -1)


def _by_host(
    scores: Tensor, lengths: Tensor, seeds: Tensor, single_root: bool
) -> tuple[Tensor, Tensor]:
    """Heads (samples, B, n), 0 at padding, and where they could be drawn, (samples, B) bool."""
    heads = seeds.new_zeros(*seeds.shape, scores.shape[1])
    good = torch.empty_like(seeds, dtype=torch.bool)
    _native.sample_trees(
        scores.numpy(),
        lengths.contiguous().numpy(),
        single_root,
        seeds.numpy(),
        heads.numpy(),
        good.numpy(),
        get_num_threads(),
    )
    return heads, good


def _by_kernels(
    kernels: Kernels,
    scores: Tensor,
    lengths: Tensor,
    seeds: Tensor,
    single_root: bool,
) -> tuple[Tensor, Tensor]:
    """The same on a GPU."""
    samples, batch = seeds.shape
    n, lanes = scores.shape[1], min(_LANES, samples)
    heads, good = seeds.new_zeros(samples, batch, n), torch.zeros_like(seeds)
    share = _native.measure_tree_samples(n, lanes)
    turn = at_once(share, batch, scores.device)
    memory = scores.new_empty(turn * share, dtype=torch.uint8)
    inputs = scores, lengths.contiguous(), n, int(single_root)
    for first in range(0, batch, turn):
        room = memory, share, first, lanes, samples, batch
        grid = min(turn, batch - first)
        kernels.launch("tree_samples", grid, _LANES, *inputs, *room, seeds, heads, good)
    return heads, good.bool()


def _by_elimination(
    scores: Tensor, lengths: Tensor, single_root: bool, generator: torch.Generator | None
) -> Tensor:
    """The heads (T, n) of one tree of each sentence, drawn by their marginals."""
    scores = scores.clone()
    columns = torch.arange(scores.shape[2], device=scores.device)
    heads = []
    for i in range(scores.shape[1]):
        with torch.enable_grad():
            leaf = scores.clone().requires_grad_()
            log_partition = eliminate(leaf, lengths, single_root)
            (marginals,) = torch.autograd.grad(log_partition.sum(), leaf)
        share = marginals[:, i].clamp(min=0.0)
        share[:, 0] = torch.where(i < lengths, share[:, 0], 1.0)  # padding words get the root
        head = torch.multinomial(share, 1, generator=generator)
        scores[:, i] = torch.where(columns == head, scores[:, i], FORBIDDEN)
        heads.append(head)
    return torch.cat(heads, 1)
