"""The SparseMAP loss: supervised learning of scores from gold structures."""

from typing import Literal

import torch
from torch import Tensor

from spinney.inference._check import check_lengths, check_scores
from spinney.inference.sparsemap import sparsemap
from spinney.structures.base import Structure


def sparsemap_loss(
    scores: Tensor,
    gold: Tensor,
    structure: Structure,
    *,
    lengths: Tensor | None = None,
    margin: float = 0.0,
    reduction: Literal["mean", "sum", "none"] = "mean",
) -> Tensor:
    r"""The Fenchel-Young loss of SparseMAP (Niculae et al. 2018, section 4; Blondel et al. 2020).

    With the marginal polytope `M` and the indicator `g` of the gold structure,

        L(theta, g) = max_{u in M} [<theta', u> - 1/2 ||u||^2]  -  [<theta, g> - 1/2 ||g||^2]
        theta' = theta + margin * (1 - g)

    It is convex, at least 0, and 0 only where all probability is on the gold structure (by the
    margin). Its gradient is `marginals - g`, its Hessian the Jacobian of the marginals; both exact.

    Args:
        scores: (B, *parts), floating; as for `sparsemap`.
        gold: (B, *event), one member of `structure` per instance.
        structure: the family of structures.
        lengths: (B,) integers, the size of each instance.
        margin: cost of each part that is not in the gold structure (Hamming cost), at least 0.
        reduction: "mean" or "sum" over the instances, or "none" for (B,).
    """
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'reduction must be "mean", "sum" or "none", got {reduction!r}')
    if not margin >= 0:
        raise ValueError(f"margin must be at least 0, got {margin}")
    check_scores(scores)
    lengths = check_lengths(lengths, scores)
    structure.validate(scores, lengths)
    target = _gold_parts(scores, gold, structure, lengths)

    theta = scores.double()
    augmented = theta + margin * (1 - target)
    u = sparsemap(augmented, structure, lengths=lengths).marginals
    loss = _objective(augmented, u) - _objective(theta, target)
    loss = loss.to(scores.dtype)
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


def _objective(theta: Tensor, u: Tensor) -> Tensor:
    """`<theta, u> - 1/2 ||u||^2` per instance: (B,). Where `u` is 0, `theta` may be -inf or NaN.

    `u` is not detached: `theta - u` is orthogonal to all directions in which it can move, so the
    gradient is right either way, and the second derivative only this way.
    """
    theta = torch.where(u.detach() != 0, theta, 0)
    return (theta * u - u.square() / 2).flatten(1).sum(-1)


def _gold_parts(
    scores: Tensor, gold: Tensor, structure: Structure, lengths: Tensor | None
) -> Tensor:
    """The indicator of the gold structures, (B, *parts) float64, once they are found legal."""
    gold = gold.to(scores.device)
    if gold.ndim == 0 or len(gold) != len(scores):
        raise ValueError(
            f"gold: expected one structure for each of the {len(scores)} instances of scores "
            f"{tuple(scores.shape)}, got shape {tuple(gold.shape)}"
        )
    legal = structure.contains(gold, lengths)
    if not legal.all():
        b = int((~legal).nonzero()[0])
        raise ValueError(f"gold[{b}] is not one of {structure}: {gold[b].tolist()}")
    parts = structure.indicator(gold)
    if parts.shape != scores.shape:
        raise ValueError(
            f"gold of shape {tuple(gold.shape)} does not fit scores of shape {tuple(scores.shape)}"
        )
    forbidden = (parts.bool() & (scores == -torch.inf)).flatten(1).any(-1)
    if forbidden.any():
        b = int(forbidden.nonzero()[0])
        raise ValueError(f"gold[{b}] uses a part that is forbidden (-inf): {gold[b].tolist()}")
    return parts
