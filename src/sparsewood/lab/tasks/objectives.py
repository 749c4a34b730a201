"""Objectives of a reverse dictionary: losses of unit vectors among candidates."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, relu

Objective = Literal["softmax", "cosine", "ranking"]


def objective_loss(
    vectors: Tensor,
    targets: Tensor,
    candidates: Tensor,
    objective: Objective,
    *,
    scale: float,
    margin: float,
    draw: bool,
    negatives: int | None = None,
) -> Tensor:
    """The loss (T,) of vectors v (T, d), with e_1 to e_V the candidates and y the target of each.

        cosine     1 - <v, e_y>
        ranking    max(0, margin - <v, e_y> + <v, e_r>),     r another candidate than y
        softmax    -log ( exp(scale <v, e_y>) / sum_c exp(scale <v, e_c>) )

    Cosine and ranking are those of Hill, Cho, Korhonen & Bengio (2016), "Learning to understand
    phrases by embedding the dictionary", section 2, on training objectives; they have a margin of
    0.1. Softmax is the cross-entropy of a distribution over all candidates by scaled cosines, as
    the normalised softmax of Wang, Xiang, Cheng & Yuille (2017), "NormFace", section 3.

    Args:
        vectors: vectors of unit norm, or means of such; inner products replace cosines.
        targets: (T,) int64, indices of candidates.
        candidates: (V, d), of unit norm.
        objective: the objective.
        scale: scale of cosines in the softmax.
        margin: margin of the ranking.
        draw: whether r is drawn uniformly; if not, the loss is the mean over all r.
        negatives: with `draw`, number of candidates, drawn uniformly for all vectors together, from
            which the sum of the softmax is estimated; None for all.
    """
    if objective == "softmax":
        with torch.autocast(vectors.device.type, enabled=False):  # scaled cosines need float32
            if draw and negatives is not None and negatives < len(candidates):
                return _drawn_softmax(scale * vectors, targets, candidates, negatives)
            scores = scale * vectors @ candidates.T
        return cross_entropy(scores, targets, reduction="none")
    right = (vectors * candidates[targets]).sum(-1)
    if objective == "cosine":
        return 1 - right
    if draw:
        step = torch.randint(1, len(candidates), targets.shape, device=targets.device)
        other = candidates[(targets + step) % len(candidates)]
        return relu(margin - right + (vectors * other).sum(-1))
    all_of_them = relu(margin - right[:, None] + vectors @ candidates.T)
    own = all_of_them.gather(1, targets[:, None]).squeeze(1)
    return (all_of_them.sum(1) - own) / (len(candidates) - 1)


def _drawn_softmax(vectors: Tensor, targets: Tensor, candidates: Tensor, count: int) -> Tensor:
    """log Z - <v, e_y>, with an unbiased estimate of Z = sum_c exp <v, e_c> out of `count` draws.

    The term of the target is exact; k drawn candidates estimate the V - 1 others,

        Z = exp <v, e_y> + (V - 1) / k * sum_{drawn c other than y} exp <v, e_c>

    as in importance sampling with a uniform proposal (Bengio & Senécal 2003, section 2.3).
    """
    drawn = torch.randperm(len(candidates), device=targets.device)[:count]
    others = drawn != targets[:, None]
    weights = (len(candidates) - 1) / others.sum(1, keepdim=True)
    scores = vectors @ candidates[drawn].T + weights.log()
    right = (vectors * candidates[targets]).sum(-1, keepdim=True)
    scores = torch.cat([right, scores.masked_fill(~others, -torch.inf)], 1)
    return scores.logsumexp(1) - right.squeeze(1)
