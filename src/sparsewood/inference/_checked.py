"""Checks of values that also run in compiled graphs.

A graph cannot branch on values, so each check is an operator there. It returns a copy of the tensor
it checked; code that relies on the check uses the copy.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from sparsewood._internal.batch import BatchShape, name_entry
from sparsewood.inference._check import check_values, no_structure_left
from sparsewood.structures._members import check_members


def checked_scores(scores: Tensor, reads: Tensor, batch: BatchShape) -> Tensor:
    """`scores` (B, *parts), checked to be finite or -inf where `reads`."""
    if torch.compiler.is_compiling():
        return _scores_op(scores, reads.expand(scores.shape), list(batch.shape))
    check_values(scores, reads)
    return scores


def checked_totals(totals: Tensor, scores: Tensor, batch: BatchShape) -> Tensor:
    """`totals` (B,), the best scores, checked so that every instance has a structure."""
    if torch.compiler.is_compiling():
        return _totals_op(totals, scores, list(batch.shape))
    _check_totals(totals, scores)
    return totals


def checked_members(
    gold: Tensor, member: Tensor, scores: Tensor, family: object, batch: BatchShape
) -> Tensor:
    """`gold` (B, *event), checked to be members (`member` (B,)) of their `family`."""
    if torch.compiler.is_compiling():
        family = type(family).__name__  # a graph cannot read the options
        return _members_op(gold, member, scores, family, list(batch.shape))
    check_members("gold", gold, member, scores, family)
    return gold


def checked_parts(parts: Tensor, gold: Tensor, scores: Tensor, batch: BatchShape) -> Tensor:
    """The `parts` (B, *parts) of `gold`, checked to contain no forbidden part."""
    if torch.compiler.is_compiling():
        return _parts_op(parts, gold, scores, list(batch.shape))
    _check_allowed(parts, gold, scores)
    return parts


def _check_totals(totals: Tensor, scores: Tensor) -> None:
    left = totals != -torch.inf
    if not left.all():
        raise no_structure_left(int((~left).nonzero()[0]), scores)


def _check_allowed(parts: Tensor, gold: Tensor, scores: Tensor) -> None:
    forbidden = (parts.bool() & (scores == -torch.inf)).flatten(1).any(-1)
    if forbidden.any():
        b = int(forbidden.nonzero()[0])
        raise ValueError(
            f"{name_entry('gold', (b,), len(gold))} uses a part that is forbidden (-inf): "
            f"{gold[b].tolist()}"
        )


# `batch` is the caller's batch shape; error messages give indices into it.


@torch.library.custom_op("sparsewood::check_scores", mutates_args=())
def _scores_op(scores: Tensor, reads: Tensor, batch: Sequence[int]) -> Tensor:
    with BatchShape(torch.Size(batch)):
        check_values(scores, reads)
    return scores.clone()


@torch.library.custom_op("sparsewood::check_totals", mutates_args=())
def _totals_op(totals: Tensor, scores: Tensor, batch: Sequence[int]) -> Tensor:
    with BatchShape(torch.Size(batch)):
        _check_totals(totals, scores)
    return totals.clone()


@torch.library.custom_op("sparsewood::check_members", mutates_args=())
def _members_op(
    gold: Tensor, member: Tensor, scores: Tensor, family: str, batch: Sequence[int]
) -> Tensor:
    with BatchShape(torch.Size(batch)):
        check_members("gold", gold, member, scores, family)
    return gold.clone()


@torch.library.custom_op("sparsewood::check_parts", mutates_args=())
def _parts_op(parts: Tensor, gold: Tensor, scores: Tensor, batch: Sequence[int]) -> Tensor:
    with BatchShape(torch.Size(batch)):
        _check_allowed(parts, gold, scores)
    return parts.clone()


@_scores_op.register_fake
@_totals_op.register_fake
@_members_op.register_fake
@_parts_op.register_fake
def _(checked: Tensor, *_: object) -> Tensor:
    return torch.empty_like(checked)
