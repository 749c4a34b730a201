"""The k best structures of each instance."""

from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._internal.batch import given_batch
from sparsewood._internal.numbers import check_whole
from sparsewood._internal.threads import get_num_threads
from sparsewood._internal.transforms import is_transformed, on_values
from sparsewood.calls import count
from sparsewood.inference import _kernels
from sparsewood.inference._check import (
    check_any_sign,
    check_input,
    check_values,
    no_structure_left,
)
from sparsewood.inference.map import total_scores
from sparsewood.structures.base import NativeStructure, Structure

_LARGEST = 2**31 - 1  # entries in a result
_PARTS = 2**22  # entries of indicators held at once


class KBest(NamedTuple):
    """The highest scoring structures of each instance, best first."""

    structures: Tensor  # (*batch, k, *event) int64
    scores: Tensor  # (*batch, k)


def kbest(scores: Tensor, structure: Structure, k: int, *, lengths: Tensor | None = None) -> KBest:
    """The exact `k` highest scoring structures of each instance, in decreasing order of score.

    For projective trees, binary trees, chains, segmentations, alignments and sets of items, the
    chart of the MAP oracle is filled once, and lists of best derivations grow as far as they are
    read (Huang & Chiang 2005, "Better k-best parsing", algorithm 3). For matchings and spanning
    trees, one oracle call finds the best structure, and one pass over each known structure its best
    exchanges (Murty 1968; Chegireddy & Hamacher 1987; Gabow 1977). For non-projective trees, the
    second best structure is found along with the best, and the set of all others is split in two
    (Camerini, Fratta & Maffioli 1980): `2 k - 2` oracle calls. Charts that do not fit in memory,
    and the kernels for GPUs, use the MAP oracle alone, at most `k` times the number of slots
    (Lawler 1972). The best structure is that of `map`; the order of other structures with equal
    scores is arbitrary, but always the same. `Rankings` have an algorithm of their own.

    Args:
        scores: (*batch, *parts), floating; as for `sparsemap`.
        structure: the family of structures.
        k: the number of structures, at least 1.
        lengths: (*batch,) or (*batch, d), the size of each instance; as for `sparsemap`.

    Returns:
        Structures (*batch, k, *event) and their scores (*batch, k), without gradient. If an
        instance has fewer than `k` structures, the last one is repeated with score -inf. Scores are
        summed in float64 and rounded to the dtype of `scores`, where large sums may overflow to
        infinity in 16-bit dtypes.
    """
    batch, scores, lengths = check_input(scores, structure, lengths)
    k = check_whole("kbest: k", k)
    check_any_sign("kbest", structure)
    event = structure.event_shape(tuple(scores.shape[1:]))
    if not structure.has_kbest or event is None:
        raise ValueError(f"kbest: expected a family with a k-best algorithm, got {structure}")
    if len(scores) * k * prod(event) > _LARGEST:
        raise ValueError(
            f"kbest: k = {k} structures of shape {event} for each of {len(scores)} instances have "
            f"more than {_LARGEST} entries; reduce k or split the batch"
        )
    with batch:
        best = _kbest(scores.detach(), structure, k, lengths, event)
    return KBest(*(batch.restore(table) for table in best))


def _kbest(
    scores: Tensor, structure: Structure, k: int, lengths: Tensor | None, event: tuple[int, ...]
) -> KBest:
    """`kbest` for one batch dimension, of structures of shape `event`."""
    if isinstance(structure, NativeStructure) and not is_transformed(scores):
        batch = structure.padded("kbest", scores, lengths)
        best = None if batch is None else _kernels.kbest(batch, event, k)
        if best is not None:
            count("map", best.calls)
            return KBest(best.structures, best.scores.to(scores.dtype))
    structures, totals, found, calls = on_values(
        lambda x: _search(x, structure, k, lengths, event), scores
    )
    count("map", calls)
    rank = torch.arange(k, device=scores.device)
    missing = rank >= found[:, None]
    at = (found.cumsum(0) - found)[:, None] + torch.where(missing, found[:, None] - 1, rank)
    return KBest(structures[at], totals[at].masked_fill(missing, -torch.inf).to(scores.dtype))


def _search(
    scores: Tensor, structure: Structure, k: int, lengths: Tensor | None, event: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Structures (T, *event) ordered by instance, their scores (T,); sizes and calls, each (B,)."""
    if not isinstance(structure, NativeStructure):
        return _search_by_family(scores, structure, k, lengths)
    batch = structure.native_batch(scores, lengths)
    shape = given_batch(len(scores))
    found = _native.kbest(*batch, prod(event), k, get_num_threads(), shape)
    structures, *rest = (torch.from_numpy(array).to(scores.device) for array in found)
    totals, counts, calls = rest
    return structures.reshape(-1, *event), totals, counts, calls


def _search_by_family(
    scores: Tensor, structure: Structure, k: int, lengths: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`_search` by the family's own algorithm, which counts as one oracle call."""
    reads = structure.reads(scores, lengths)
    check_values(scores, reads)
    best = structure.kbest(torch.where(reads, scores, 0).double(), lengths, k)
    assert best is not None
    structures, found = best
    if not found.all():
        raise no_structure_left(int((found == 0).nonzero()[0]), scores)
    instance = torch.arange(len(scores), device=scores.device).repeat_interleave(found)
    totals = _totals(scores, structures, instance, structure)
    return structures, totals, found, torch.ones_like(found)


def _totals(scores: Tensor, structures: Tensor, instance: Tensor, structure: Structure) -> Tensor:
    """The score of each of (T, *event) structures of the instances (T,): (T,) float64."""
    at_once = max(1, _PARTS // max(1, scores.shape[1:].numel()))
    blocks = zip(structures.split(at_once), instance.split(at_once), strict=True)
    return torch.cat([total_scores(scores[rows], block, structure) for block, rows in blocks])
