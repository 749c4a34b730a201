r"""The sum over spanning trees by eliminating one word after another, without a subtraction.

A random walk on the words that steps from word i to its head j in proportion to `w[i, j]` does not
change its course elsewhere if word k is cut out of it: who stepped to k steps on to a head of k,

    d[k] = sum_j w[k, j],    w[i, j] <- w[i, j] + w[i, k] w[k, j] / d[k],    Z = prod_k d[k],

with j over the root and the words still there. It is Gaussian elimination on the Laplacian with the
diagonal kept as a sum (Grassmann, Taksar & Heyman 1985): all terms are positive, so that each digit
of the result is right, whatever the range of the weights. Here it is done on their logarithms.
"""

import math

import torch
from torch import Tensor

from sparsewood.structures.recursions.totals import FORBIDDEN


def eliminate(scores: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    """The log-partition function over all trees of each sentence: (B, n, n + 1) -> (B,).

    A second root is made impossible by taking so much off the scores of all root arcs that trees
    with two of them vanish next to those with one.
    """
    n = scores.shape[1]
    root = scores[..., 0]
    penalty = root.new_zeros(len(root))
    if single_root:
        penalty = _more_than_any_gain(scores.detach())
        root = root - penalty[:, None]
    if lengths is not None:  # padding hangs on the root at no cost
        root = torch.where(torch.arange(n, device=root.device) < lengths[:, None], root, 0.0)
    weights = torch.cat([root.unsqueeze(-1), scores[..., 1:]], -1)
    totals = []
    for k in range(n, 0, -1):  # word k, in row k - 1
        out = weights[:, k - 1, :k]
        totals.append(torch.logsumexp(out, -1))
        if k > 1:
            onward = out - totals[-1].unsqueeze(-1)
            through = weights[:, : k - 1, k : k + 1] + onward.unsqueeze(1)
            weights = torch.logsumexp(torch.stack([weights[:, : k - 1, :k], through]), 0)
    return torch.stack(totals).sum(0) + penalty


def _more_than_any_gain(scores: Tensor) -> Tensor:
    """(B,): no two sets of trees differ by more in their totals, up to a factor of 1e17."""
    n = scores.shape[1]
    allowed = scores > FORBIDDEN / 2
    span = scores.amax(-1) - torch.where(allowed, scores, torch.inf).amin(-1)
    span = torch.where(allowed.any(-1), span, 0.0)
    return span.sum(-1) + n * math.log(n + 1) + 40.0
