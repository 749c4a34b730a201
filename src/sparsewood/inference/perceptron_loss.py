"""The structured perceptron: the best structure against the gold one."""

from torch import Tensor

from sparsewood.inference._gold import Reduction
from sparsewood.inference.hinge_loss import hinge_loss
from sparsewood.structures.base import Structure


def perceptron_loss(
    scores: Tensor,
    gold: Tensor,
    structure: Structure,
    *,
    lengths: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """The loss of the structured perceptron (Collins 2002):

        L(theta, g) = max_h <theta, m(h)>  -  <theta, g>

    with `m(h)` the parts of a structure and `g` those of the gold one. It is convex, at least 0,
    and 0 where no structure scores higher than the gold one. The subgradient is `m(h*) - g`, with
    `h*` the structure that the MAP oracle finds. It is the structured hinge without a margin:
    arguments and result are those of `hinge_loss`.
    """
    return hinge_loss(scores, gold, structure, lengths=lengths, margin=0.0, reduction=reduction)
