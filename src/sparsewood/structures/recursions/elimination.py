r"""The sum over spanning trees by eliminating one word after another, without subtractions.

Take a random walk on the words that steps from word i to head j with probability proportional to
`w[i, j]`. Eliminating word k replaces each step to k by a step to a head of k,

    d[k] = sum_j w[k, j],    w[i, j] <- w[i, j] + w[i, k] w[k, j] / d[k],    Z = prod_k d[k],

with j over the root and the remaining words. This is Gaussian elimination on the Laplacian with the
diagonal kept as a sum (Grassmann, Taksar & Heyman 1985). All terms are positive, so the result has
full relative accuracy whatever the range of the weights. It runs on logarithms of the weights.

With a single root, `d[k]` omits the arc from the root, and only the last word is attached to it
(the same elimination applied to the matrix of Koo et al. 2007, section 3.2). A word without a head
among the remaining words must be the only child of the root, and takes its place from then on.
"""

import torch
from torch import Tensor

from sparsewood.structures.recursions.totals import FORBIDDEN, is_empty, logsumexp


def eliminate(scores: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    """The log-partition function over all trees of each sentence: (B, n, n + 1) -> (B,)."""
    n = scores.shape[1]
    weights = scores
    # (B,): where the root still needs its child.
    open_ = torch.full_like(scores[:, 0, 0], single_root, dtype=torch.bool)
    totals = []
    for k in range(n, 0, -1):  # word k, in row k - 1; padding is in no tree
        inside = torch.ones_like(open_) if lengths is None else k <= lengths
        out, into = weights[:, k - 1, :k], weights[:, : k - 1, k]
        total, is_root = logsumexp(out, -1), torch.zeros_like(open_)
        if single_root:
            by_words = _without_root(out)
            is_root = open_ & inside & is_empty(by_words)
            open_ = open_ & ~is_root
            total = torch.where(open_, by_words, torch.where(is_root, out[:, 0], total))
        totals.append(torch.where(inside, total, 0.0))
        if k > 1:
            weights = _cut_out(weights[:, : k - 1, :k], into, out - total[:, None], is_root, inside)
    return torch.stack(totals).sum(0)


def _cut_out(rest: Tensor, into: Tensor, onward: Tensor, is_root: Tensor, inside: Tensor) -> Tensor:
    """The weights (B, k - 1, k) of the words before word k after its elimination.

    `into` (B, k - 1) are the weights of word k as head, `onward` (B, k) the shares of its heads.
    Where it `is_root`, it takes the place of the root; where it is not `inside`, nothing changes.
    """
    through = into.unsqueeze(-1) + onward.unsqueeze(1)
    weights = logsumexp(torch.stack([rest, through]), 0)
    below = torch.cat([into.unsqueeze(-1), rest[..., 1:]], -1)
    weights = torch.where(is_root[:, None, None], below, weights)
    return torch.where(inside[:, None, None], weights, rest)


def _without_root(out: Tensor) -> Tensor:
    """The total over heads other than the root, the first of (B, k)."""
    if out.shape[1] == 1:
        return torch.full_like(out[:, 0], FORBIDDEN)
    return logsumexp(out[:, 1:], -1)
