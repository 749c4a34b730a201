"""Checks of structures passed by the caller, such as gold structures."""

from typing import Any

import torch
from torch import Tensor

from sparsewood._internal.batch import given_shape, name_entry
from sparsewood._internal.numbers import check_dense
from sparsewood.structures.base import Structure


def check_events(what: str, structures: Any, structure: Structure, scores: Tensor) -> Tensor:
    """`structures` as int64 on the device of `scores`, after a check of dtype and shape.

    Args:
        what: the name of `structures` in error messages.
        structures: (B, *event) integers, one structure per instance.
        structure: the expected family.
        scores: (B, *parts).
    """
    check_dense(what, structures)
    if structures.is_floating_point() or structures.is_complex():
        raise ValueError(f"{what}: expected an integer dtype, got {structures.dtype}")
    if structures.ndim == 0 or len(structures) != len(scores):
        raise ValueError(
            f"{what}: expected {len(scores)} structures, one per instance, for scores of shape "
            f"{given_shape(scores.shape)}, got shape {given_shape(structures.shape)}"
        )
    event = structure.event_shape(tuple(scores.shape[1:]))
    if event is not None and structures.shape[1:] != event:
        raise ValueError(
            f"{what} of shape {given_shape(structures.shape)} does not fit scores of shape "
            f"{given_shape(scores.shape)}: expected {given_shape((len(scores), *event))}"
        )
    return structures.to(scores.device, torch.int64)


def parts_of_members(
    structures: Tensor, structure: Structure, scores: Tensor, lengths: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The parts of (B, *event) structures, (B, *parts) float64, and which are members, (B,) bool.

    Rows that are not members get zeros.
    """
    member = are_members(structures, structure, scores, lengths)
    parts = torch.zeros(scores.shape, dtype=torch.float64, device=scores.device)
    if member.any():
        parts[member] = structure.indicator(structures[member], tuple(scores.shape[1:]))
    return parts, member


def are_members(
    structures: Tensor, structure: Structure, scores: Tensor, lengths: Tensor | None
) -> Tensor:
    """Which of (B, *event) are members of the family for scores (B, *parts): (B,) bool."""
    misfit = (
        f"structures of shape {given_shape(structures.shape)} do not fit scores of shape "
        f"{given_shape(scores.shape)}"
    )
    try:  # a user's `contains` may raise anything on arbitrary input
        member = structure.contains(structures, tuple(scores.shape[1:]), lengths)
    except Exception as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"{misfit}: {kind}{error}") from error
    if member.shape != scores.shape[:1]:
        raise ValueError(f"{misfit}: {structure}.contains returned shape {tuple(member.shape)}")
    return member


def check_members(
    what: str, structures: Tensor, member: Tensor, scores: Tensor, family: object
) -> None:
    """Raise ValueError unless each of (B, *event) structures is a `member` (B,) of `family`."""
    if not member.all():
        b = int((~member).nonzero()[0])
        raise ValueError(
            f"{name_entry(what, (b,), len(scores))} is not one of {family} for scores of shape "
            f"{given_shape(scores.shape)}: {structures[b].tolist()}"
        )
