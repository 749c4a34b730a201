"""The k best structures of each instance."""

from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._numbers import check_whole
from sparsewood._threads import get_num_threads
from sparsewood._values import on_values
from sparsewood.inference._check import check_input
from sparsewood.inference.map import total_scores
from sparsewood.structures.base import NativeStructure, Structure

_LARGEST = 2**31 - 1  # numbers in an answer
_PARTS = 2**22  # parts of structures that are held at once
_ROOM = 1024  # structures that room is taken for at first


class KBest(NamedTuple):
    """The highest scoring structures of each instance, best first."""

    structures: Tensor  # (B, k, *event) int64
    scores: Tensor  # (B, k)


def kbest(scores: Tensor, structure: Structure, k: int, *, lengths: Tensor | None = None) -> KBest:
    """The `k` highest scoring structures of each instance, exactly, in falling order of score.

    The set of structures is split around each one found, slot by slot, and the best of each piece
    is found by the MAP oracle (Murty 1968, "An algorithm for ranking all the assignments in order
    of increasing cost"; Lawler 1972): `k` times the number of slots oracle calls at most. For
    trees, chains and matchings, and the other families of which one part is chosen in every slot.

    Args:
        scores: (B, *parts), floating; as for `sparsemap`.
        structure: the family of structures.
        k: how many, at least 1.
        lengths: the size of each instance, (B,) or as the family has it.

    Returns:
        Structures (B, k, *event) and their scores (B, k), without gradient. An instance that has
        fewer than `k` structures repeats the last one with the score -inf. Scores are summed in
        float64 and rounded to the dtype of `scores`: a sum that a 16-bit dtype cannot hold is
        infinite there too.
    """
    lengths = check_input(scores, structure, lengths)
    k = check_whole("kbest: k", k)
    if not isinstance(structure, NativeStructure):
        raise ValueError(f"kbest: no k-best algorithm is known for {structure}")
    event = structure.event_shape(tuple(scores.shape[1:]))
    if len(scores) * k * prod(event) > _LARGEST:
        raise ValueError(
            f"kbest: k = {k} structures of shape {event} for each of {len(scores)} instances are "
            f"more than {_LARGEST} numbers"
        )
    scores = scores.detach()
    structures, found = on_values(lambda x: _search(x, structure, k, lengths), scores)
    totals = _totals(scores, structures, structure)
    rank = torch.arange(k, device=scores.device)
    missing = rank >= found[:, None]
    last = torch.where(missing, found[:, None] - 1, rank)
    instance = torch.arange(len(scores), device=scores.device)[:, None]
    totals = totals[instance, last].masked_fill(missing, -torch.inf)
    return KBest(structures[instance, last], totals.to(scores.dtype))


def _search(
    scores: Tensor, structure: NativeStructure, k: int, lengths: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Up to `k` structures as (B, found, *event), and how many each instance has, (B,).

    A large `k` is approached in steps: room is taken for structures that there are.
    """
    event = structure.event_shape(tuple(scores.shape[1:]))
    batch = structure.native_batch(scores, lengths)
    found = torch.zeros(len(scores), dtype=torch.int64)
    room = min(k, _ROOM)
    while True:
        structures = torch.zeros(len(scores), room, prod(event), dtype=torch.int64)
        _native.kbest(*batch, structures, found, get_num_threads())
        if room == k or (found < room).all():
            break
        room = min(k, 8 * room)
    structures = structures.reshape(-1, room, *event)[:, : int(found.amax()) if len(found) else 1]
    return structures.to(scores.device), found.to(scores.device)


def _totals(scores: Tensor, structures: Tensor, structure: Structure) -> Tensor:
    """The score of each of (B, m, *event) structures, (B, m) float64."""
    at_once = max(1, _PARTS // max(1, scores.numel()))
    blocks = []
    for block in structures.split(at_once, 1):
        rows = scores.repeat_interleave(block.shape[1], 0)
        totals = total_scores(rows, block.flatten(0, 1), structure)
        blocks.append(totals.reshape(block.shape[:2]))
    return torch.cat(blocks, 1)
