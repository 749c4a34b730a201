"""The structured perceptron loss."""

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

    where `m(h)` are the parts of a structure and `g` the parts of the gold structure. It is convex,
    at least 0, and 0 if no structure scores higher than the gold structure. The subgradient is
    `m(h*) - g`, where `h*` is the MAP structure. Equal to `hinge_loss` with a margin of 0, with the
    same arguments and result.
    """
    return hinge_loss(scores, gold, structure, lengths=lengths, margin=0.0, reduction=reduction)
