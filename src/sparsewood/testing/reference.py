"""Reference computations for SparseMAP, over all structures of a small instance."""

import math

import torch
from torch import Tensor


def project(theta: Tensor, columns: Tensor) -> Tensor:
    """The point of the convex hull of `columns` (count, P) nearest to `theta` (P,): SparseMAP.

    Wolfe's method (1976) over all columns, by least squares and without a MAP oracle.
    """
    chosen = [int((columns @ theta).argmax())]
    weights = torch.ones(1, dtype=torch.float64)
    for _ in range(10 * len(columns)):
        goal = _affine_weights(theta, columns[chosen])
        if (goal > 1e-13).all():
            weights = goal
            u = weights @ columns[chosen]
            advantage = columns @ (theta - u) - u @ (theta - u)
            best = int(advantage.argmax())
            if advantage[best] <= 1e-13 * (1 + theta.abs().sum()) or best in chosen:
                return u
            chosen.append(best)
            weights = torch.cat([weights, weights.new_zeros(1)])
            continue
        step = torch.where(goal > 1e-13, torch.inf, weights / (weights - goal).clamp(min=1e-15))
        leaving = int(step.argmin())
        weights = weights + step[leaving].clamp(max=1) * (goal - weights)
        weights = torch.cat([weights[:leaving], weights[leaving + 1 :]])
        del chosen[leaving]
    raise AssertionError("the reference projection did not finish")


def _affine_weights(theta: Tensor, columns: Tensor) -> Tensor:
    """The weights, possibly negative, of the point of the affine hull nearest to `theta`."""
    directions = (columns[1:] - columns[0]).T
    rest = torch.linalg.lstsq(directions, (theta - columns[0])[:, None], driver="gelsd").solution
    return torch.cat([1 - rest.sum(0), rest[:, 0]])


def totals(theta: Tensor, columns: Tensor) -> Tensor:
    """`<theta, m>` for (count, P) or (B, count, P) columns: (B, count), with -inf * 0 = 0.

    -inf times any other number is -inf.
    """
    used = torch.where(columns != 0, theta[:, None], 0)
    return torch.where(used == -torch.inf, used, used * columns).sum(-1)


def gains(theta: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """Scores of structures minus the best score, rounded once: (B, count); and the best, (B,).

    `theta` (B, P) may share a constant so large that sums lose all precision.
    """
    sums = totals(theta, columns)
    rows = []
    for scores, best in zip(theta.tolist(), sums.argmax(-1).tolist(), strict=True):
        less = [-term for term in _terms(scores, columns[best])]
        used = [_terms(scores, one) for one in columns]
        rows.append([-math.inf if -math.inf in one else math.fsum(one + less) for one in used])
    return torch.tensor(rows, dtype=torch.float64), sums.amax(-1)


def _terms(scores: list[float], column: Tensor) -> list[float]:
    """Terms whose exact sum is `<scores, column>`."""
    used = column.nonzero().flatten().tolist()
    whole = column.frac().eq(0).all()
    if whole:  # repeated additions round nothing
        return [
            math.copysign(1, column[p]) * scores[p]
            for p in used
            for _ in range(int(abs(column[p])))
        ]
    return [scores[p] * float(column[p]) for p in used]


def score_range(theta: Tensor, reads: Tensor) -> Tensor:
    """Largest minus smallest finite score that is read: (B,)."""
    seen = reads & theta.isfinite()
    high = torch.where(seen, theta, -torch.inf).amax(-1)
    return high - torch.where(seen, theta, torch.inf).amin(-1)


def affine_rank(columns: Tensor) -> int:
    return int(torch.linalg.matrix_rank(columns - columns[0]))


def members(structures: Tensor, everything: Tensor) -> Tensor:
    """Which of (T, *event) are among (count, *event): (T,) bool."""
    same = structures[:, None] == everything[None]
    return same.flatten(2).all(-1).any(-1) if same.ndim > 2 else same.any(-1)
