"""Canonical weights of families without known facets, too large for enumeration."""

from itertools import pairwise
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import draw_scores
from sparsewood.testing.reference import affine_rank


class Family(NamedTuple):
    """A structure without a list of facets, and the shape of its scores."""

    structure: sp.Structure
    shape: tuple[int, ...]


def projective(n: int, single_root: bool = False, max_children: int | None = None) -> Family:
    structure = sp.DependencyTrees(
        projective=True, single_root=single_root, max_children=max_children
    )
    return Family(structure, (n, n + 1))


FAMILIES = {
    "projective": projective(20),
    "projective-single-root": projective(20, single_root=True),
    "bounded": projective(12, max_children=2),
    "labelled-projective": Family(sp.LabelledDependencyTrees(projective=True), (12, 13, 2)),
    "chain": Family(sp.LinearChain(), (20, 3, 4)),
    "segments": Family(sp.SemiMarkov(3), (15, 2, 5)),
    "warping": Family(sp.Alignment(), (12, 15)),
    "alignment": Family(sp.Alignment(gaps=True), (9, 9)),
    "binary": Family(sp.BinaryTrees(), (15, 15)),
    "labelled-binary": Family(sp.BinaryTrees(labelled=True), (9, 9, 3)),
    "simplex": Family(sp.Simplex(), (30,)),
}


def canonical(family: Family, scores: Tensor) -> sp.SparsePosterior:
    return sp.sparsemap(scores, family.structure, weights="canonical")


def draw(family: Family, kind: str = "normal", count: int = 4) -> Tensor:
    return draw_scores(kind, count, family.shape, seed=0)


def measure(family: Family, one: sp.SparsePosterior) -> dict[bytes, float]:
    """The weight of each structure of an instance, by its parts."""
    parts = family.structure.indicator(one.structures, family.shape).flatten(1).bool().numpy()
    return {column.tobytes(): w for column, w in zip(parts, one.weights.tolist(), strict=True)}


def distance(a: dict[bytes, float], b: dict[bytes, float]) -> float:
    return max(abs(a.get(h, 0.0) - b.get(h, 0.0)) for h in a.keys() | b.keys())


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_weights_are_found_and_optimal(name: str, scale: float) -> None:
    family = FAMILIES[name]
    scores = scale * draw(family)
    post, plain = canonical(family, scores), sp.sparsemap(scores, family.structure)
    assert post.canonical.all()
    assert post.converged.all()
    assert post.gap.max() < 1e-12 * max(scale, 1)
    torch.testing.assert_close(post.marginals, plain.marginals, rtol=0, atol=1e-11)
    for one in post:
        assert (one.weights > 0).all()
        parts = family.structure.indicator(one.structures, family.shape).flatten(1)
        assert affine_rank(parts) + 1 == len(parts)


@pytest.mark.parametrize("name", FAMILIES)
def test_support_stays_when_scores_hardly_move(name: str) -> None:
    family = FAMILIES[name]
    scores = draw(family)
    moved = scores + 1e-7 * draw_scores("normal", len(scores), family.shape, seed=1)
    for a, b in zip(canonical(family, scores), canonical(family, moved), strict=True):
        there, here = measure(family, a), measure(family, b)
        assert there.keys() == here.keys()
        assert distance(there, here) < 1e-4


@pytest.mark.parametrize("name", ["projective", "warping", "binary", "segments"])
def test_weights_are_continuous_along_a_line(name: str) -> None:
    """Halving the steps halves the largest change; a jump would remain."""
    family = FAMILIES[name]
    start, end = draw(family, count=2)
    changes = []
    for steps in (200, 400):
        t = torch.linspace(0, 0.2, steps + 1, dtype=torch.float64)
        t = t.view(-1, *[1] * len(family.shape))
        post = canonical(family, start + t * (end - start))
        assert post.canonical.all()
        found = [measure(family, one) for one in post]
        changes.append(max(distance(a, b) for a, b in pairwise(found)))
    assert changes[1] < 0.7 * changes[0]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", ["normal", "integers"])
def test_both_solvers_have_the_same(name: str, kind: str) -> None:
    family = FAMILIES[name]
    scores = draw(family, kind, count=2)
    theirs = sp.sparsemap(scores, family.structure, solver="generic", weights="canonical")
    for a, b in zip(canonical(family, scores), theirs, strict=True):
        if a.canonical and b.canonical:
            assert distance(measure(family, a), measure(family, b)) < 1e-8


@pytest.mark.parametrize("n", [6, 8, 12])
@pytest.mark.parametrize("name", ["trees", "projective", "warping", "binary", "spanning"])
def test_equal_scores_come_to_an_end(name: str, n: int) -> None:
    """Every structure is on the face, and few have weight: the result is optimal either way."""
    structure: sp.Structure = {
        "trees": sp.DependencyTrees(),
        "projective": sp.DependencyTrees(projective=True),
        "warping": sp.Alignment(),
        "binary": sp.BinaryTrees(),
        "spanning": sp.SpanningTrees(),
    }[name]
    shape = (n, n + 1) if isinstance(structure, sp.DependencyTrees) else (n, n)
    post = sp.sparsemap(torch.full((1, *shape), 0.5).double(), structure, weights="canonical")
    assert post.converged.all()
    assert post.gap.max() < 1e-12
