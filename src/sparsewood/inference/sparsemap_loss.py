"""The SparseMAP loss, for training scores on gold structures."""

import torch
from torch import Tensor

from sparsewood._internal.numbers import check_dense
from sparsewood.inference._check import Flat, check_cap, check_graph
from sparsewood.inference._checked import checked_members, checked_parts, checked_scores
from sparsewood.inference._gold import Reduction, check_gold, check_options, reduce
from sparsewood.inference.lp_sparsemap import lp_sparsemap
from sparsewood.inference.sparsemap import sparsemap
from sparsewood.structures.base import Structure
from sparsewood.structures.factor_graph import FactorGraph


def sparsemap_loss(
    scores: Tensor,
    gold: Tensor,
    structure: Structure | FactorGraph,
    *,
    lengths: Tensor | None = None,
    margin: float = 0.0,
    max_active: int | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    r"""The Fenchel-Young loss of SparseMAP (Niculae et al. 2018, section 4; Blondel et al. 2020).

    With the marginal polytope `M` and the parts `g` of the gold structure,

        L(theta, g) = max_{u in M} [<theta', u> - 1/2 ||u||^2]  -  [<theta', g> - 1/2 ||g||^2]
        theta' = theta + margin * (1 - g)

    The norms are over the parts that `structure` penalises (all parts in most families). The loss
    is convex, at least 0, and 0 only if all probability is on the gold structure (with the margin).
    Its gradient is `marginals - g`, its Hessian the Jacobian of the marginals; both are exact.

    For a factor graph, `M` is the set over which `lp_sparsemap` maximises, which contains all
    assignments that satisfy every factor. This is the LP-SparseMAP loss (Niculae & Martins 2020,
    section 4), 0 only if the marginals equal the gold assignment.

    Args:
        scores: (*batch, *parts), floating; as for `sparsemap` or `lp_sparsemap`.
        gold: (*batch, *event), one member of `structure` per instance; for a factor graph, 0/1
            values of the variables, with the shape of `scores`.
        structure: the family of structures, or a factor graph.
        lengths: (*batch,) or (*batch, d), the size of each instance; as for `sparsemap`.
        margin: cost of each part that is not in the gold structure (Hamming cost), at least 0.
        max_active: maximum number of structures to keep, as for `sparsemap`. If more were needed,
            `u` is optimal on those kept, and the loss is too low, possibly negative. Near-equal
            scores, such as those of an untrained model, need many structures: this bounds the time
            of the first training steps.
        reduction: "mean" or "sum" over the instances, or "none" for (*batch,).

    Returns:
        A scalar or (*batch,), in the dtype of `scores`; differentiable twice.
    """
    check_options(reduction, margin)
    max_active = check_cap("max_active", max_active)
    if isinstance(structure, FactorGraph):
        for name, option in (("lengths", lengths), ("max_active", max_active)):
            if option is not None:
                raise ValueError(f"{name}: expected None for a factor graph, got {option!r}")
        (batch, scores, _), target = _check_assignment(scores, gold, structure)
        penalised = structure.penalised.to(scores.device).reshape(scores.shape[1:])
    else:
        (batch, scores, lengths), target = check_gold(scores, gold, structure, lengths)
        penalised = structure.penalised(scores)
    augmented = scores.double() + margin * (1 - target)
    with batch:
        if isinstance(structure, FactorGraph):
            u = lp_sparsemap(augmented, structure).marginals
        else:
            u = sparsemap(augmented, structure, lengths=lengths, max_active=max_active).marginals
    # Scores that are not finite are forbidden or never read: marginals and gold are 0 there.
    theta = torch.where(scores.isfinite(), scores, 0).double()
    return reduce(_loss(theta, u, target, margin, penalised), reduction, scores.dtype, batch)


def _check_assignment(scores: Tensor, gold: Tensor, graph: FactorGraph) -> tuple[Flat, Tensor]:
    """The input, and `gold` as float64, checked to be an allowed assignment."""
    given = check_graph(scores, graph)
    batch, flat, _ = given
    check_dense("gold", gold)
    if gold.shape != scores.shape or gold.is_floating_point() or gold.is_complex():
        raise ValueError(
            f"gold: expected integers of the shape of scores, {tuple(scores.shape)}, got "
            f"{gold.dtype} of shape {tuple(gold.shape)}"
        )
    gold = batch.flatten("gold", gold).to(scores.device, torch.int64)
    with batch:
        reads = ~graph.off.to(scores.device).reshape(flat.shape[1:])
        values = checked_scores(flat.detach(), reads, batch)
        gold = checked_members(gold, graph.contains(gold.flatten(1)), values, graph, batch)
        target = checked_parts(gold.double(), gold, values, batch)
    return given, target


def _loss(
    theta: Tensor, u: Tensor, target: Tensor, margin: float, penalised: Tensor | None
) -> Tensor:
    """The loss of each instance, (B,), from finite scores, marginals and gold parts (B, *parts).

    The gradient of `<theta, u> - 1/2 ||u||^2` in `u` is orthogonal to all directions in which `u`
    can move, but in floating point only up to the rounding of `theta`. So `u` is detached. A last
    term, which is 0 and has zero gradient, restores the second derivative.
    """
    mean = u.detach()
    cost = margin * _inner(1 - target, mean - target) - _half_square(mean, penalised)
    # Subtract the parts first, so that large scores used by both cancel.
    loss = _inner(theta, mean - target) + cost + _half_square(target, penalised)
    return loss + _inner(theta - theta.detach(), u - mean) / 2


def _inner(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).flatten(1).sum(-1)


def _half_square(u: Tensor, penalised: Tensor | None) -> Tensor:
    """`1/2 ||u||^2` per instance: (B,), the norm over `penalised` (*parts)."""
    square = u.square() if penalised is None else torch.where(penalised, u.square(), 0)
    return square.flatten(1).sum(-1) / 2
