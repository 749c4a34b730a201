"""Losses for gold structures, on jax arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import torch
from torch import Tensor

from sparsewood import inference
from sparsewood.inference._check import check_cap
from sparsewood.inference._gold import Reduction, check_options
from sparsewood.jax._check import check_given, check_gold
from sparsewood.jax._derivatives import value_of
from sparsewood.jax._host import one_batch
from sparsewood.structures.base import Structure


def crf_loss(
    scores: jax.Array,
    gold: jax.Array,
    structure: Structure,
    *,
    lengths: jax.Array | None = None,
    reduction: Reduction = "mean",
) -> jax.Array:
    """The negative log-likelihood of gold structures: `sparsewood.crf_loss`.

    Args:
        scores: (*batch, *parts), floating; as for `marginals`.
        gold: (*batch, *event) integers, one member of `structure` per instance.
        structure: the family of structures.
        lengths: integers (*batch,) or (*batch, d), the size of each instance.
        reduction: "mean" or "sum" over the instances, or "none" for (*batch,).

    Returns:
        A scalar or (*batch,), in the dtype of `scores`. All losses have derivatives of any order in
        reverse mode, and first derivatives in forward mode.
    """
    check_options(reduction)
    return _loss(inference.crf_loss, scores, gold, structure, lengths, reduction)


def sparsemap_loss(
    scores: jax.Array,
    gold: jax.Array,
    structure: Structure,
    *,
    lengths: jax.Array | None = None,
    margin: float = 0.0,
    max_active: int | None = None,
    reduction: Reduction = "mean",
) -> jax.Array:
    """The Fenchel-Young loss of SparseMAP: `sparsewood.sparsemap_loss`.

    Arguments and result as for `crf_loss`, and

    Args:
        margin: cost of each part that is not in the gold structure (Hamming cost), at least 0.
        max_active: maximum number of structures to keep; default: as many as needed.
    """
    check_options(reduction, margin)
    options = {"margin": margin, "max_active": check_cap("max_active", max_active)}
    return _loss(inference.sparsemap_loss, scores, gold, structure, lengths, reduction, options)


def hinge_loss(
    scores: jax.Array,
    gold: jax.Array,
    structure: Structure,
    *,
    lengths: jax.Array | None = None,
    margin: float = 1.0,
    reduction: Reduction = "mean",
) -> jax.Array:
    """The structured hinge loss: `sparsewood.hinge_loss`.

    Arguments and result as for `crf_loss`, and

    Args:
        margin: cost of each part that is not in the gold structure (Hamming cost), at least 0.
    """
    check_options(reduction, margin)
    options = {"margin": margin}
    return _loss(inference.hinge_loss, scores, gold, structure, lengths, reduction, options)


def perceptron_loss(
    scores: jax.Array,
    gold: jax.Array,
    structure: Structure,
    *,
    lengths: jax.Array | None = None,
    reduction: Reduction = "mean",
) -> jax.Array:
    """The loss of the structured perceptron, `sparsewood.perceptron_loss`; as `crf_loss`."""
    check_options(reduction)
    return _loss(inference.perceptron_loss, scores, gold, structure, lengths, reduction)


def _loss(
    loss: Callable[..., Tensor],
    scores: jax.Array,
    gold: jax.Array,
    structure: Structure,
    lengths: jax.Array | None,
    reduction: Reduction,
    options: dict[str, Any] | None = None,
) -> jax.Array:
    given = check_given(scores, structure, lengths)
    target = check_gold(gold, structure, given)
    task = _Loss(loss, structure, given.ndim, tuple((options or {}).items()))
    found = value_of(task, given.scores, (target, given.lengths)).astype(given.dtype)
    if reduction == "none":
        return found
    return found.mean() if reduction == "mean" else found.sum()


@dataclass(frozen=True)
class _Loss:
    """A loss of the library, without reduction."""

    loss: Callable[..., Tensor]
    structure: Structure
    ndim: int  # dimensions of the parts
    options: tuple[tuple[str, Any], ...]

    def __call__(self, scores: Tensor, gold: Tensor, lengths: Tensor | None) -> Tensor:
        batch, given = one_batch(self.structure, self.ndim, scores, gold, lengths)
        compute = partial(self.loss, lengths=given[2], reduction="none", **dict(self.options))
        return compute(*given[:2], self.structure).reshape(batch)

    def with_slope(
        self, scores: Tensor, gold: Tensor, lengths: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            value = self(scores.requires_grad_(), gold, lengths)
            (slope,) = torch.autograd.grad(value.sum(), scores)
        return value, slope
