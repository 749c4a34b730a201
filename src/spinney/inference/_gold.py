"""What the supervised losses share: gold structures as parts, scores of parts, reductions."""

from contextlib import suppress
from typing import Literal

import torch
from torch import Tensor

from spinney.inference._check import check_finite, check_lengths, check_scores
from spinney.structures.base import NativeStructure, Structure

Reduction = Literal["mean", "sum", "none"]


def check_gold(
    scores: Tensor, gold: Tensor, structure: Structure, lengths: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """The input of a loss, once it is found legal.

    Args:
        scores: (B, *parts), floating.
        gold: (B, *event), one structure per instance.
        structure: the family they are of.
        lengths: the size of each instance, or None.

    Returns:
        The parts of the gold structures, (B, *parts) float64 0/1, and `lengths` as int64 on the
        device of `scores`.

    Raises:
        ValueError: bad shapes, dtypes or lengths; NaN or +inf among the scores that are read; a
            gold structure that is not of the family, or that uses a forbidden part.
    """
    check_scores(scores)
    lengths = check_lengths(lengths, scores)
    structure.validate(scores, lengths)
    check_finite(scores, structure.reads(scores, lengths))
    gold = gold.to(scores.device)
    if gold.ndim == 0 or len(gold) != len(scores):
        raise ValueError(
            f"gold: expected one structure for each of the {len(scores)} instances of scores "
            f"{tuple(scores.shape)}, got shape {tuple(gold.shape)}"
        )
    parts = _parts(gold, structure, scores, lengths)
    forbidden = (parts.bool() & (scores == -torch.inf)).flatten(1).any(-1)
    if forbidden.any():
        b = int(forbidden.nonzero()[0])
        raise ValueError(f"gold[{b}] uses a part that is forbidden (-inf): {gold[b].tolist()}")
    return parts, lengths


def _parts(gold: Tensor, structure: Structure, scores: Tensor, lengths: Tensor | None) -> Tensor:
    """The parts of (B, *event) structures, each of which is a member of its instance's family."""
    shape = tuple(scores.shape[1:])
    misfit = f"gold of shape {tuple(gold.shape)} does not fit scores of shape {tuple(scores.shape)}"
    if isinstance(structure, NativeStructure) and gold.shape[1:] != structure.event_shape(shape):
        raise ValueError(misfit)
    legal = structure.contains(gold, lengths)
    if legal.all():
        try:
            parts = structure.indicator(gold, shape)
        except IndexError as error:  # a label that the scores have no part for
            raise ValueError(f"{misfit} ({error})") from error
        if parts.shape != scores.shape:
            raise ValueError(misfit)
        # A structure with fewer parts than it should have is not found again in them.
        with suppress(NotImplementedError):
            same = structure.decode(parts, lengths) == gold
            legal = same.unsqueeze(-1).flatten(1).all(-1)
        if legal.all():
            return parts
    b = int((~legal).nonzero()[0])
    raise ValueError(
        f"gold[{b}] is not one of {structure} for scores of shape {tuple(scores.shape)}: "
        f"{gold[b].tolist()}"
    )


def check_margin(margin: float) -> None:
    """A finite number of at least 0."""
    if not 0 <= margin < float("inf"):
        raise ValueError(f"margin must be at least 0 and finite, got {margin}")


def check_reduction(reduction: str) -> None:
    """One of the three."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'reduction must be "mean", "sum" or "none", got {reduction!r}')


def total(theta: Tensor, u: Tensor) -> Tensor:
    """`<theta, u>` per instance: (B,). Where `u` is 0, `theta` may be -inf or NaN."""
    return (torch.where(u.detach() != 0, theta, 0) * u).flatten(1).sum(-1)


def reduce(loss: Tensor, reduction: Reduction, dtype: torch.dtype) -> Tensor:
    """The loss (B,) of each instance, summed up as `reduction` says, in `dtype`."""
    if reduction == "none":
        return loss.to(dtype)
    return (loss.mean() if reduction == "mean" else loss.sum()).to(dtype)
