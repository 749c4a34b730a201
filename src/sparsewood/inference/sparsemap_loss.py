"""The SparseMAP loss: scores learned from gold structures, with few structures to push down."""

import torch
from torch import Tensor

from sparsewood.inference._gold import Reduction, check_gold, check_options, reduce, total
from sparsewood.inference.sparsemap import sparsemap
from sparsewood.structures.base import Structure


def sparsemap_loss(
    scores: Tensor,
    gold: Tensor,
    structure: Structure,
    *,
    lengths: Tensor | None = None,
    margin: float = 0.0,
    max_active: int | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    r"""The Fenchel-Young loss of SparseMAP (Niculae et al. 2018, section 4; Blondel et al. 2020).

    With the marginal polytope `M` and the indicator `g` of the gold structure,

        L(theta, g) = max_{u in M} [<theta', u> - 1/2 ||u||^2]  -  [<theta, g> - 1/2 ||g||^2]
        theta' = theta + margin * (1 - g)

    The norms are over the parts that `structure` penalises, which are all parts of most families.
    The loss is convex, at least 0, and 0 only where all probability is on the gold structure (by
    the margin). Its gradient is `marginals - g`, its Hessian the Jacobian of the marginals; both
    exact.

    Args:
        scores: (B, *parts), floating; as for `sparsemap`.
        gold: (B, *event), one member of `structure` per instance.
        structure: the family of structures.
        lengths: integers, the size of each instance; as for `sparsemap`.
        margin: cost of each part that is not in the gold structure (Hamming cost), at least 0.
        max_active: keep at most so many structures, as for `sparsemap`. Where more were needed, `u`
            is optimal on those kept, and the loss is less than it should be, maybe less than 0.
            Scores that are all alike, as those of an untrained model, need many: this bounds the
            time that the first steps of training take.
        reduction: "mean" or "sum" over the instances, or "none" for (B,).

    Returns:
        A scalar or (B,), in the dtype of `scores`; differentiable twice.
    """
    check_options(reduction, margin)
    target, lengths = check_gold(scores, gold, structure, lengths)
    theta = scores.double()
    augmented = theta + margin * (1 - target)
    u = sparsemap(augmented, structure, lengths=lengths, max_active=max_active).marginals
    penalised = structure.penalised(scores)
    loss = _objective(augmented, u, penalised) - _objective(theta, target, penalised)
    return reduce(loss, reduction, scores.dtype)


def _objective(theta: Tensor, u: Tensor, penalised: Tensor | None) -> Tensor:
    """`<theta, u> - 1/2 ||u||^2` per instance: (B,), the norm over `penalised` (*parts).

    `u` is not detached: the gradient of the objective is orthogonal to all directions in which `u`
    can move, so the gradient is right either way, and the second derivative only this way.
    """
    square = u.square() if penalised is None else torch.where(penalised, u.square(), 0)
    return total(theta, u) - square.flatten(1).sum(-1) / 2
