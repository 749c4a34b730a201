"""Structures that a caller gives for the instances of a batch: gold ones, or ones to be scored."""

from typing import Any

import torch
from torch import Tensor

from sparsewood._numbers import check_dense
from sparsewood.structures.base import NativeStructure, Structure
from sparsewood.structures.custom import Custom


def check_events(what: str, structures: Any, structure: Structure, scores: Tensor) -> Tensor:
    """`structures` as int64 on the device of `scores`, once their shape is found to fit.

    Args:
        what: what they are called in messages.
        structures: (B, *event) integers, one structure per instance.
        structure: the family they should be of.
        scores: (B, *parts).
    """
    check_dense(what, structures)
    if structures.is_floating_point() or structures.is_complex():
        raise ValueError(f"{what}: expected an integer dtype, got {structures.dtype}")
    if structures.ndim == 0 or len(structures) != len(scores):
        raise ValueError(
            f"{what}: expected one structure for each of the {len(scores)} instances of scores "
            f"{tuple(scores.shape)}, got shape {tuple(structures.shape)}"
        )
    event = structure.event_shape(tuple(scores.shape[1:]))
    if event is not None and structures.shape[1:] != event:
        raise ValueError(
            f"{what} of shape {tuple(structures.shape)} does not fit scores of shape "
            f"{tuple(scores.shape)}: expected {(len(scores), *event)}"
        )
    return structures.to(scores.device, torch.int64)


def parts_of_members(
    structures: Tensor, structure: Structure, scores: Tensor, lengths: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The parts of (B, *event) structures, (B, *parts) float64, and which are members, (B,) bool.

    What is no member has no parts.
    """
    misfit = (
        f"structures of shape {tuple(structures.shape)} do not fit scores of shape "
        f"{tuple(scores.shape)}"
    )
    by_oracle = type(structure).contains in (Structure.contains, Custom.contains)
    if by_oracle:  # `decode` will tell
        member = torch.ones(len(scores), dtype=torch.bool, device=scores.device)
    else:
        member = structure.contains(structures, _sizes(structure, scores, lengths))
    if member.shape != scores.shape[:1]:
        raise ValueError(f"{misfit}: contains of {structure} gives shape {tuple(member.shape)}")
    parts = torch.zeros(scores.shape, dtype=torch.float64, device=scores.device)
    if not member.any():
        return parts, member
    try:
        used = structure.indicator(structures[member], tuple(scores.shape[1:]))
    except Exception as error:
        if by_oracle:  # code of a user that was given anything
            raise ValueError(f"{misfit}: {type(error).__name__}: {error}") from error
        raise
    if used.shape[1:] != scores.shape[1:]:
        raise ValueError(f"{misfit}: {structure} gives them parts of shape {tuple(used.shape[1:])}")
    parts[member] = used
    # A label that the scores have no part for leaves a structure with fewer parts than it should
    # have, and it is not found again in them.
    found = structure.decode(parts, lengths)
    if found.shape != structures.shape:
        raise ValueError(f"{misfit}: those of {structure} have shape {tuple(found.shape[1:])}")
    return parts, member & (found == structures).unsqueeze(-1).flatten(1).all(-1)


def _sizes(structure: Structure, scores: Tensor, lengths: Tensor | None) -> Tensor | None:
    """`lengths`, the full sizes where they are None: how many columns a matching has, say."""
    if lengths is not None or not isinstance(structure, NativeStructure):
        return lengths
    sizes = structure.size_of(scores, None)
    return sizes.squeeze(-1) if sizes.shape[-1] == 1 else sizes
