"""Helpers of the supervised losses: gold structures as parts, scores of parts, reductions."""

from typing import Literal

import torch
from torch import Tensor

from sparsewood._internal.batch import BatchShape
from sparsewood._internal.numbers import check_real
from sparsewood.inference._check import LARGEST, Flat, check_input
from sparsewood.inference._checked import checked_members, checked_parts, checked_scores
from sparsewood.structures._members import are_members, check_events
from sparsewood.structures.base import Structure

Reduction = Literal["mean", "sum", "none"]


def check_gold(
    scores: Tensor, gold: Tensor, structure: Structure, lengths: Tensor | None
) -> tuple[Flat, Tensor]:
    """Check the input of a loss.

    Args:
        scores: (*batch, *parts), floating.
        gold: (*batch, *event), one structure per instance.
        structure: the family of structures.
        lengths: the size of each instance, or None.

    Returns:
        The result of `check_input`, and the parts of the gold structures, (B, *parts) float64.

    Raises:
        ValueError: bad shapes, dtypes or lengths; NaN or +inf among the scores that are read; a
            gold structure that is not in the family or uses a forbidden part.
    """
    given = check_input(scores, structure, lengths)
    batch, scores, lengths = given
    gold = batch.flatten("gold", gold)
    with batch:
        values = checked_scores(scores.detach(), structure.reads(scores, lengths), batch)
        gold = check_events("gold", gold, structure, values)
        member = are_members(gold, structure, values, lengths)
        gold = checked_members(gold, member, values, structure, batch)
        parts = structure.indicator(gold, tuple(values.shape[1:]))
        parts = checked_parts(parts, gold, values, batch)
    return given, parts


def check_options(reduction: str, margin: float = 0.0) -> None:
    """Require a known reduction, and a margin between 0 and the largest allowed score."""
    if check_real("margin", margin) > LARGEST:
        raise ValueError(f"margin must be at most {LARGEST:.0e}, got {margin!r}")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'reduction must be "mean", "sum" or "none", got {reduction!r}')


def total(theta: Tensor, u: Tensor) -> Tensor:
    """`<theta, u>` per instance: (B,). `theta` may be -inf or NaN where `u` is 0."""
    return (torch.where(u.detach() != 0, theta, 0) * u).flatten(1).sum(-1)


def reduce(loss: Tensor, reduction: Reduction, dtype: torch.dtype, batch: BatchShape) -> Tensor:
    """Reduce the losses (B,) of all instances; the result has `dtype`."""
    if reduction == "none":
        return batch.restore(loss.to(dtype))
    return (loss.mean() if reduction == "mean" else loss.sum()).to(dtype)
