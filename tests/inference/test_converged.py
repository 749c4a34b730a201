"""`converged` at every scale of the scores, against exact arithmetic over all structures."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor
from ufal.chu_liu_edmonds import chu_liu_edmonds  # pyright: ignore[reportAttributeAccessIssue]

import sparsewood as sp
from sparsewood.structures.base import NativeStructure
from sparsewood.testing import draw_scores

TOL = 1e-9
FAMILIES: dict[str, tuple[NativeStructure, tuple[int, ...], tuple[int, ...]]] = {
    "trees": (sp.DependencyTrees(), (4, 5), (4,)),
    "single-root": (sp.DependencyTrees(projective=True, single_root=True), (4, 5), (4,)),
    "chain": (sp.LinearChain(penalty="both"), (4, 2, 3), (4, 2)),
    "subset": (sp.Subset(2), (5,), (5,)),
    "matching": (sp.Matching(), (4, 4), (4, 4)),
    "simplex": (sp.Simplex(), (6,), (6,)),
}


def exact_gap(scores: Tensor, post: sp.SparsePosterior, columns: Tensor) -> Fraction:
    """max_h <theta - u, h> - <theta - u, u> of one instance, `u` from the weights, in fractions."""
    weights = [Fraction(w) for w in post.weights.tolist()]
    used = post.structure.indicator(post.structures, tuple(scores.shape[1:])).flatten(1).tolist()
    none, total = Fraction(0), sum(weights)
    u = [
        sum((w for w, h in zip(weights, used, strict=True) if h[p]), none) / total
        for p in range(columns.shape[1])
    ]
    slope = [Fraction(s) - x for s, x in zip(scores.flatten().tolist(), u, strict=True)]
    best = max(sum((s for s, m in zip(slope, h, strict=True) if m), none) for h in columns.tolist())
    return best - sum((s * x for s, x in zip(slope, u, strict=True)), none)


@pytest.mark.parametrize("name", FAMILIES)
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), exponent=st.floats(-12, 6))
def test_gap_and_gradient_are_right_where_it_is_true(name: str, seed: int, exponent: float) -> None:
    structure, shape, size = FAMILIES[name]
    scores = 10**exponent * draw_scores("normal", 1, shape, seed=seed)
    reads = structure.reads(scores)
    scores = scores.masked_fill(~reads, 0.0).requires_grad_()
    post = sp.sparsemap(scores, structure, tol=TOL)
    values = scores.detach()[reads]
    spread = values.max() - values.min()
    if exponent > -5:
        assert post.converged.all()
    assume(bool(post.converged.all()))
    columns = structure.indicator(structure.enumerate(*size), shape).flatten(1)
    assert exact_gap(scores.detach(), post, columns.bool()) <= TOL * Fraction(spread.item())

    # The marginals can move within the face of the best structures on theta - u.
    below = (scores - post.marginals).detach().flatten() @ columns.T
    below = below.max() - below
    rounding = 1e-13 * max(1.0, float(spread))
    face = columns[below <= 10 * rounding]
    assume(not ((below > rounding) & (below <= 1e-4 * spread.clamp(max=1))).any())
    basis = torch.linalg.svd(face[1:] - face[0], full_matrices=False)
    basis = basis.Vh[basis.S > 1e-9]
    weight = draw_scores("normal", 1, shape, seed=seed + 1)
    (found,) = torch.autograd.grad((post.marginals * weight).sum(), scores)
    expected = (basis.T @ (basis @ weight.flatten())).reshape(found.shape)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e-9])
def test_false_where_float64_cannot_tell(scale: float) -> None:
    """The gap must be below 1e-9 times the range, which is below the rounding of the weights."""
    scores = scale * draw_scores("normal", 1, (30, 31), seed=0)
    post = sp.sparsemap(scores, sp.DependencyTrees(), tol=TOL)
    assert not post.converged.any()
    assert (post.gap < 1e-13).all()  # it continues until rounding stops it


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 1.0, 1e3])
def test_true_where_it_can(scale: float) -> None:
    scores = scale * draw_scores("normal", 4, (20, 21), seed=0)
    post = sp.sparsemap(scores, sp.DependencyTrees(), tol=TOL)
    spread = scores.flatten(1).amax(1) - scores.flatten(1).amin(1)
    assert post.converged.all()
    assert (post.gap <= TOL * spread).all()


def test_equal_scores_count_as_of_range_one() -> None:
    post = sp.sparsemap(torch.full((1, 12, 13), 0.5).double(), sp.DependencyTrees(), tol=TOL)
    assert post.converged.all()
    assert (post.gap <= 1e-14).all()


def independent_gap(scores: Tensor, marginals: Tensor) -> list[float]:
    """max_h <theta - u, h> - <theta - u, u> by an independent oracle, per instance."""
    gaps = []
    for residual, u in zip((scores - marginals).numpy(), marginals.numpy(), strict=True):
        n = len(residual)
        matrix = np.full((n + 1, n + 1), np.nan)  # NaN: no such arc; row 0 is the root
        matrix[1:] = residual
        np.fill_diagonal(matrix, np.nan)
        heads, _ = chu_liu_edmonds(matrix)
        best = residual[np.arange(n), heads[1:]].sum()
        gaps.append(float(best - (residual * u).sum()))
    return gaps


@pytest.mark.parametrize("limits", [{}, {"max_active": 5}, {"max_iter": 10}])
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_gap_is_what_another_oracle_says(limits: dict[str, Any], scale: float) -> None:
    scores, trees = scale * draw_scores("normal", 10, (20, 21), seed=3), sp.DependencyTrees()
    post = sp.sparsemap(scores, trees, **limits)
    expected = independent_gap(scores.masked_fill(~trees.reads(scores), 0.0), post.marginals)
    # Before the last step the solver uses scores with ties broken by 1e-12 per part.
    assert post.gap.tolist() == pytest.approx(expected, abs=1e-10 if limits else 1e-12)
