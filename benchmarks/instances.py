"""Random instances, and a certificate that uses no code of sparsewood."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from ufal.chu_liu_edmonds import chu_liu_edmonds  # pyright: ignore[reportAttributeAccessIssue]

SIZES = (10, 20, 30, 40, 60)
SCALES = (0.3, 1.0, 3.0)

Array = NDArray[np.float64]


def random_scores(n: int, scale: float, count: int) -> Array:
    """Normal arc scores (count, n, n+1) of the given scale, equal in every run."""
    rng = np.random.default_rng([n, round(1000 * scale)])
    return scale * rng.standard_normal((count, n, n + 1))


def best_score(scores: Array) -> float:
    """max_h <scores, h> over all non-projective trees, scores (n, n+1), by Chu-Liu-Edmonds."""
    n = scores.shape[0]
    # ufal's matrix has a row for the root; NaN marks an arc that does not exist.
    matrix = np.full((n + 1, n + 1), np.nan)
    matrix[1:] = scores
    np.fill_diagonal(matrix, np.nan)
    heads, _ = chu_liu_edmonds(matrix)
    return float(scores[np.arange(n), heads[1:]].sum())


def gaps(scores: Array, marginals: Array) -> Array:
    """Duality gaps (B,) of `marginals`: max_h <theta - u, h> - <theta - u, u>.

    With u in the marginal polytope the gap bounds the distance to the optimum:
    1/2 ||u - u*||^2 <= gap (the objective is 1-strongly concave in u).
    """
    slope = scores - marginals
    inner = (slope * marginals).sum(axis=(1, 2))
    return np.array([best_score(s) for s in slope]) - inner


def certified(scores: Array, marginals: Array, tol: float) -> NDArray[np.bool_]:
    """Which instances (B,) are solved to `tol`: the gap, and every word's heads sum to one.

    A gap says nothing about marginals outside the polytope, hence the second check.
    """
    heads_sum = np.abs(marginals.sum(axis=2) - 1).max(axis=1)
    negative = -marginals.min(axis=(1, 2))
    return (np.abs(gaps(scores, marginals)) <= tol) & (heads_sum <= tol) & (negative <= tol)
