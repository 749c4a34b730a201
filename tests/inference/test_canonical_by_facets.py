"""Canonical weights of families with known facets, too large for enumeration."""

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import draw_scores
from sparsewood.testing.reference import affine_rank


class Family(NamedTuple):
    """A structure, and shapes of scores for which the initial pool misses facets."""

    structure: sp.Structure
    shapes: list[tuple[int, ...]]
    small: tuple[int, ...]  # a size at which the generic solver is fast


def sides(structure: sp.Structure) -> Family:
    return Family(structure, [(9, 9), (6, 10), (10, 6)], (5, 6))


FAMILIES = {
    "trees": Family(sp.DependencyTrees(), [(10, 11), (25, 26)], (6, 7)),
    "single-root": Family(sp.DependencyTrees(single_root=True), [(10, 11), (25, 26)], (6, 7)),
    "labelled": Family(sp.LabelledDependencyTrees(), [(10, 11, 3)], (4, 5, 2)),
    "labelled-single-root": Family(
        sp.LabelledDependencyTrees(single_root=True), [(10, 11, 3)], (4, 5, 2)
    ),
    "chain": Family(sp.LinearChain(), [(12, 4, 5)], (6, 3, 4)),
    "penalised-chain": Family(sp.LinearChain(penalty="both"), [(12, 4, 5)], (6, 3, 4)),
    "segments": Family(sp.SemiMarkov(3), [(12, 3, 6)], (6, 2, 5)),
    "penalised-segments": Family(sp.SemiMarkov(3, penalty="both"), [(12, 3, 6)], (6, 2, 5)),
    "matching": sides(sp.Matching()),
    "partial-matching": sides(sp.Matching(partial=True)),
    "spanning": Family(sp.SpanningTrees(), [(12, 12), (30, 30)], (6, 6)),
    "subset": Family(sp.Subset(5), [(20,)], (8,)),
    "subset-at-most": Family(sp.Subset(at_most=5), [(20,), (4,)], (8,)),
    "hypercube": Family(sp.Hypercube(), [(30,)], (8,)),
}
CASES = [(name, shape) for name, family in FAMILIES.items() for shape in family.shapes]


def draw(shape: tuple[int, ...], kind: str = "normal", count: int = 4) -> Tensor:
    """(2 count, *shape): moderate scores, with many structures, and small scores."""
    scores = draw_scores(kind, 2 * count, shape, seed=0)
    return torch.cat([scores[:count], 0.1 * scores[count:]])


def measure(structure: sp.Structure, one: sp.SparsePosterior, shape: tuple[int, ...]) -> dict:
    """The weight of each structure, by its parts."""
    parts = structure.indicator(one.structures, shape).flatten(1).bool().numpy()
    return {column.tobytes(): w for column, w in zip(parts, one.weights.tolist(), strict=True)}


def distance(a: dict[bytes, float], b: dict[bytes, float]) -> float:
    return max(abs(a.get(h, 0.0) - b.get(h, 0.0)) for h in a.keys() | b.keys())


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_weights_are_found_and_optimal(name: str, shape: tuple[int, ...]) -> None:
    structure, scores = FAMILIES[name].structure, draw(shape)
    post = sp.sparsemap(scores, structure, weights="canonical")
    plain = sp.sparsemap(scores, structure)
    assert post.canonical.all()
    assert post.gap.max() < 1e-12
    torch.testing.assert_close(post.marginals, plain.marginals, rtol=0, atol=1e-11)
    for one in post:
        assert (one.weights > 0).all()
        parts = structure.indicator(one.structures, shape).flatten(1)
        assert affine_rank(parts) + 1 == len(parts)


@pytest.mark.parametrize("name", FAMILIES)
def test_both_solvers_have_the_same(name: str) -> None:
    """The generic solver finds them only by oracle calls, without facets."""
    structure, shape = FAMILIES[name].structure, FAMILIES[name].small
    kinds = ["normal", "forbidden"]
    if structure.penalised(draw(shape)) is None:  # else marginals may tie, and each finds its own
        kinds.append("integers")
    scores = torch.cat([draw(shape, kind, count=1) for kind in kinds])
    ours, theirs = [
        sp.sparsemap(scores, structure, solver=solver, weights="canonical")
        for solver in ("native", "generic")
    ]
    for a, b in zip(ours, theirs, strict=True):
        if a.canonical and b.canonical:
            assert distance(measure(structure, a, shape), measure(structure, b, shape)) < 1e-8


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_a_small_change_of_the_scores_changes_little(name: str, shape: tuple[int, ...]) -> None:
    structure, scores = FAMILIES[name].structure, draw(shape)
    moved = scores + 1e-9 * draw_scores("normal", len(scores), shape, seed=1)
    posts = [sp.sparsemap(s, structure, weights="canonical") for s in (scores, moved)]
    for a, b in zip(*posts, strict=True):
        assert distance(measure(structure, a, shape), measure(structure, b, shape)) < 1e-6


@pytest.mark.parametrize("shape", [(4, 2, 3), (6, 3, 4)])
def test_transitions_that_tie(shape: tuple[int, ...]) -> None:
    """Their marginals are not unique; structures must be independent in the states."""
    chain, scores = sp.LinearChain(), 0.2 * draw_scores("normal", 8, shape, seed=0)
    scores[..., 1:] = 0.0
    post, plain = sp.sparsemap(scores, chain, weights="canonical"), sp.sparsemap(scores, chain)
    assert post.canonical.all()
    assert post.converged.all()
    states = slice(None), slice(None), slice(None), 0
    torch.testing.assert_close(post.marginals[states], plain.marginals[states], rtol=0, atol=1e-11)
    for one in post:
        parts = chain.indicator(one.structures, shape)[states].flatten(1)
        assert affine_rank(parts) + 1 == len(parts)
