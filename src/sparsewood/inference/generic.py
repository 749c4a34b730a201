r"""SparseMAP for any structure with a MAP oracle: the reference solver, in plain PyTorch.

The problem, for part scores `theta` (divided by the temperature) and one 0/1 column `m(h)` of `M`
for each structure `h` (Niculae, Martins, Blondel & Cardie 2018, "SparseMAP", section 3):

    q* = argmax_{q in simplex}  <theta, M q> - 1/2 ||D M q||^2,      u* = M q*

with `D` keeping the penalised parts, in most families all of them. The active set method (Nocedal
& Wright 2006, ch. 16; Wolfe 1976) keeps a set S of structures:

1. Solve the problem over S with `sum q = 1` alone. With `G = M_S^T D M_S + 1 1^T` and
   `f = M_S^T theta` the answer is `q = G^-1 (f + c 1)`, with `c` such that q sums to 1.
2. Some weight is not positive: walk from the old weights towards the new ones until the first
   reaches zero, drop that structure, go to 1.
3. Otherwise ask the oracle for the best structure on `theta - D u`. Its advantage over the active
   ones, `max_h <theta - D u, m(h)> - <theta - D u, u>`, is the duality gap. Stop if it is small;
   otherwise the structure enters S with weight zero, go to 1. If its penalised parts are an affine
   combination of those in S, it takes the place of one of them instead (a simplex pivot).

All instances of a batch take their steps together; those that are done leave the loop.

Tilting. The structure that scores best on `theta - u` moves all parts at once, so that entering it
approaches the solution like a binary expansion: the last weights are 1e-10 and less, and structures
with weights below the tolerance, which never enter, are missing from the gradient. Therefore the
oracle is also asked with random numbers, of the size of the gap, added to the scores. A structure
so found enters instead if a tenth of the gap is its own: as many steps, no tiny weights.
"""

import torch
from torch import Tensor

from sparsewood.inference._active_sets import ActiveSets, system_of
from sparsewood.inference._check import check_finite, check_magnitude, no_structure_left
from sparsewood.posterior import SparsePosterior
from sparsewood.structures.base import Structure
from sparsewood.structures.oracle_error import OracleError

_TILTS = (0.1, 0.3)  # sizes of the tilt, in units of the gap; the last that works is taken


def solve(
    scores: Tensor,
    structure: Structure,
    lengths: Tensor | None,
    temperature: float | Tensor,
    tol: float,
    max_active: int | None,
    max_iter: int | None,
) -> SparsePosterior:
    """SparseMAP of each instance; the arguments are those of `sparsemap`, already checked.

    Without `max_iter`, `100 + 10 * parts` QP solves are the limit: a safety, far above what is
    needed, that shows as `converged=False`.
    """
    reads = structure.reads(scores, lengths)
    check_finite(scores, reads)
    forbidden = reads & (scores == -torch.inf)
    allowed = (reads & ~forbidden).flatten(1)
    # Forbidden and unread parts count as 0 in sums, where they only ever meet the indicator 0.
    theta = torch.where(allowed, scores.flatten(1), 0).double()
    if isinstance(temperature, Tensor):
        theta = theta / temperature.double()[:, None]
    else:
        theta = theta / temperature
    check_magnitude(theta.detach().reshape(scores.shape), allowed.reshape(scores.shape))

    def oracle(rows: Tensor, potentials: Tensor) -> tuple[Tensor, Tensor]:
        table = potentials.reshape(-1, *scores.shape[1:]).masked_fill(forbidden[rows], -torch.inf)
        try:
            best = structure.argmax(table, None if lengths is None else lengths[rows])
            parts = structure.indicator(best, tuple(scores.shape[1:]))
        except OracleError as error:
            raise error.renumbered(rows) from error.__cause__
        dead = (parts.bool() & forbidden[rows]).flatten(1).any(-1)
        if dead.any():
            raise no_structure_left(int(rows[dead][0]), scores)
        return best, parts.flatten(1)

    with torch.no_grad():
        scale = _score_range(theta, allowed)
        limit = 100 + 10 * theta.shape[1] if max_iter is None else max_iter
        cap = theta.shape[1] + 1 if max_active is None else max_active
        # Where the steps or the structures are few, each should be the best one.
        tilts = _TILTS if max_iter is None and max_active is None else ()
        found = ActiveSets.start(theta.detach(), oracle, structure.penalised(scores))
        found.run(tol * scale.clamp(max=1), tilts, cap, limit)
    weights, marginals = _differentiable(found, theta)
    return SparsePosterior(
        structure,
        found.structures[found.active],
        weights.to(scores.dtype),
        found.active.sum(-1),
        marginals.reshape(scores.shape).to(scores.dtype),
        found.gap,
        found.gap <= torch.maximum(found.target, tol * scale.clamp(min=1)),
        lengths,
    )


def _differentiable(found: ActiveSets, theta: Tensor) -> tuple[Tensor, Tensor]:
    """Weights (T,) and marginals (B, P) as functions of `theta`.

    Near `theta` the support stays, so the weights are linear in `f = M_S^T theta` with the constant
    Jacobian `G^-1 - (G^-1 1)(G^-1 1)^T / (1^T G^-1 1)`.
    """
    f = (found.parts @ theta[:, :, None]).squeeze(-1)
    ones = found.active.double()
    factor = torch.linalg.cholesky(system_of(found.gram, found.active))
    change = (f - f.detach()) * ones  # zero in value: it carries the gradient
    a, b = torch.cholesky_solve(torch.stack([change, ones], -1), factor).unbind(-1)
    weights = found.weights + a - b * (a.sum(-1) / b.sum(-1))[:, None]
    marginals = (weights[:, None] @ found.parts).squeeze(1)
    return weights[found.active], marginals


def _score_range(theta: Tensor, allowed: Tensor) -> Tensor:
    """Largest minus smallest score among the allowed parts: (B,)."""
    high = torch.where(allowed, theta, -torch.inf).amax(-1)
    low = torch.where(allowed, theta, torch.inf).amin(-1)
    return (high - low).clamp(min=0)
