"""The CRF loss: the negative log-likelihood of gold structures."""

from torch import Tensor

from sparsewood.inference._gold import Reduction, check_gold, check_options, reduce
from sparsewood.inference.marginals import marginals
from sparsewood.structures.base import Structure


def crf_loss(
    scores: Tensor,
    gold: Tensor,
    structure: Structure,
    *,
    lengths: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """The negative log-likelihood of a conditional random field (Lafferty et al. 2001):

        L(theta, g) = log sum_h exp <theta, m(h)>  -  <theta, g>

    where `m(h)` are the parts of a structure and `g` the parts of the gold structure. It is convex,
    and positive unless the gold structure is the only structure. The gradient is `marginals - g`;
    it is exact, as are higher derivatives. For non-projective trees the sum is a determinant (Koo
    et al. 2007). Families whose sum is #P-hard (matchings) raise an error.

    Args:
        scores: (*batch, *parts), floating; as for `marginals`.
        gold: (*batch, *event), one member of `structure` per instance.
        structure: the family of structures.
        lengths: (*batch,) or (*batch, d), the size of each instance; as for `marginals`.
        reduction: "mean" or "sum" over the instances, or "none" for (*batch,).

    Returns:
        A scalar or (*batch,), in the dtype of `scores`.
    """
    check_options(reduction)
    (batch, scores, lengths), target = check_gold(scores, gold, structure, lengths)
    with batch:
        dist = marginals(scores, structure, lengths=lengths)
    log_prob = dist.log_prob_of_parts(target.unsqueeze(1)).squeeze(1)
    return reduce(-log_prob, reduction, scores.dtype, batch)
