"""The structured hinge loss, with Hamming distance as margin."""

from torch import Tensor

from sparsewood.calls import count
from sparsewood.inference._check import check_any_sign
from sparsewood.inference._gold import Reduction, check_gold, check_options, reduce, total
from sparsewood.structures.base import Structure


def hinge_loss(
    scores: Tensor,
    gold: Tensor,
    structure: Structure,
    *,
    lengths: Tensor | None = None,
    margin: float = 1.0,
    reduction: Reduction = "mean",
) -> Tensor:
    """The structured hinge loss, with margin rescaling (Taskar et al. 2003; Tsochantaridis et al.
    2005, section 2.2):

        L(theta, g) = max_h [<theta, m(h)> + margin * <1 - g, m(h) - g>]  -  <theta, g>

    where `m(h)` are the parts of a structure and `g` the parts of the gold structure. For 0/1 parts
    `<1 - g, m(h) - g>` counts the parts of `h` that are not in the gold structure. If parts are
    numbers it is a linear cost, 0 for the gold structure; for rankings it is half the squared
    distance, `1/2 ||m(h) - g||^2`. The loss is convex, at least 0, and 0 if the gold structure
    scores higher than every other by `margin` times the cost. The subgradient is `m(h*) - g`, where
    `h*` is the MAP structure of the augmented scores. With a margin of 0 this is the perceptron
    loss.

    Args:
        scores: (*batch, *parts), floating. -inf forbids a part; parts that are never read may hold
            any value.
        gold: (*batch, *event), one member of `structure` per instance.
        structure: the family of structures; only its MAP oracle is used.
        lengths: (*batch,) or (*batch, d), the size of each instance; as for `sparsemap`.
        margin: cost of each part that is not in the gold structure (Hamming cost), at least 0.
        reduction: "mean" or "sum" over the instances, or "none" for (*batch,).

    Returns:
        A scalar or (*batch,), in the dtype of `scores`.
    """
    check_options(reduction, margin)
    (batch, scores, lengths), target = check_gold(scores, gold, structure, lengths)
    if margin > 0:
        check_any_sign("hinge_loss with a margin", structure)
    theta = scores.double()
    augmented = theta.detach() + margin * (1 - target)
    count("map", len(scores))
    with batch:
        best = structure.indicator(structure.argmax(augmented, lengths), tuple(scores.shape[1:]))
    cost = margin * total(1 - target, best - target)
    # Subtract the indicators first, so that parts of both structures cancel.
    return reduce(total(theta, best - target) + cost, reduction, scores.dtype, batch)
