"""Canonical weights against the pulling triangulation, by linear programs over all structures."""

from collections.abc import Callable
from itertools import permutations
from typing import Literal, NamedTuple

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.inference._preferences import preferences
from sparsewood.testing import KINDS, draw_scores
from sparsewood.testing.reference import totals
from tests.full import some_quick
from tests.pulling import pulled

Solver = Literal["native", "generic"]


class Family(NamedTuple):
    """A structure with the shape and the enumeration of an instance of size n."""

    structure: sp.Structure
    sizes: tuple[int, int]
    shape: Callable[[int], tuple[int, ...]]
    size: Callable[[int], tuple[int, ...]] = lambda n: (n,)


def trees(structure: sp.DependencyTrees) -> Family:
    return Family(structure, (1, 4), lambda n: (n, n + 1))


def labelled(**options: bool) -> Family:
    structure = sp.LabelledDependencyTrees(**options)
    return Family(structure, (1, 3), lambda n: (n, n + 1, 2), lambda n: (n, 2))


def sides(structure: sp.Structure) -> Family:
    return Family(structure, (1, 4), lambda n: (n, 4), lambda n: (n, 4))


FAMILIES = {
    "trees": trees(sp.DependencyTrees()),
    "single-root": trees(sp.DependencyTrees(single_root=True)),
    "projective": trees(sp.DependencyTrees(projective=True)),
    "projective-single-root": trees(sp.DependencyTrees(projective=True, single_root=True)),
    "bounded": trees(sp.DependencyTrees(projective=True, max_children=2)),
    "labelled": labelled(),
    "labelled-single-root": labelled(single_root=True),
    "labelled-projective": labelled(projective=True),
    "chain": Family(sp.LinearChain(), (1, 4), lambda n: (n, 3, 4), lambda n: (n, 3)),
    "penalised-chain": Family(
        sp.LinearChain(penalty="both"), (1, 4), lambda n: (n, 3, 4), lambda n: (n, 3)
    ),
    "segments": Family(sp.SemiMarkov(3), (1, 5), lambda n: (n, 2, 5), lambda n: (n, 2)),
    "matching": sides(sp.Matching()),
    "partial-matching": sides(sp.Matching(partial=True)),
    "warping": sides(sp.Alignment()),
    "alignment": sides(sp.Alignment(gaps=True)),
    "spanning": Family(sp.SpanningTrees(), (2, 5), lambda n: (n, n)),
    "binary": Family(sp.BinaryTrees(), (1, 5), lambda n: (n, n)),
    "labelled-binary": Family(
        sp.BinaryTrees(labelled=True), (1, 3), lambda n: (n, n, 2), lambda n: (n, 2)
    ),
    "subset": Family(sp.Subset(3), (3, 7), lambda n: (n,)),
    "hypercube": Family(sp.Hypercube(), (1, 6), lambda n: (n,)),
    "simplex": Family(sp.Simplex(), (1, 8), lambda n: (n,)),
}


QUICK = ("trees", "chain", "matching", "binary", "subset")


def reference(family: Family, n: int, scores: Tensor, marginals: Tensor) -> dict[bytes, float]:
    """The canonical weight of each structure, by its parts, for one instance (*parts).

    Marginals of parts without penalty are unique unless scores tie; then use any that optimal
    structures have.
    """
    structure, shape = family.structure, family.shape(n)
    columns = structure.indicator(structure.enumerate(*family.size(n)), shape).flatten(1)
    columns = columns[totals(scores.flatten()[None], columns)[0] > -torch.inf]
    u, w = marginals.flatten(), preferences(shape).flatten()
    penalised = structure.penalised(scores[None])
    counted = None if penalised is None else penalised.flatten()
    if counted is not None:
        values = totals((scores.flatten() - u * counted)[None], columns)[0]
        columns = columns[values > values.max() - 1e-9 * (1 + values.max().abs())]
    weights = pulled(columns, u, w, counted)
    return measure(columns[weights > 0], weights[weights > 0])


def measure(columns: Tensor, weights: Tensor) -> dict[bytes, float]:
    keys = [column.bool().numpy().tobytes() for column in columns]
    return dict(zip(keys, weights.tolist(), strict=True))


def check_canonical(family: Family, n: int, scores: Tensor, post: sp.SparsePosterior) -> None:
    """`post` of (B, *parts) equals the reference where it is canonical."""
    for table, one in zip(scores, post, strict=True):
        if not one.canonical:
            continue
        found = measure(
            family.structure.indicator(one.structures, family.shape(n)).flatten(1), one.weights
        )
        wanted = reference(family, n, table, one.marginals)
        far = max(abs(found.get(h, 0.0) - wanted.get(h, 0.0)) for h in found.keys() | wanted.keys())
        assert far < 1e-8


def draw(family: Family, n: int, kind: str, seed: int, batch: int = 2) -> Tensor:
    """(batch, *parts), each with at least one structure."""
    scores = draw_scores(kind, batch, family.shape(n), seed)
    listed = family.structure.enumerate(*family.size(n))
    columns = family.structure.indicator(listed, family.shape(n)).flatten(1)
    dead = totals(scores.flatten(1), columns).amax(-1) == -torch.inf
    scores[dead] = scores[dead].nan_to_num(neginf=0.0)
    return scores


@pytest.mark.parametrize("solver", ["native", "generic"])
@pytest.mark.parametrize("name", some_quick(FAMILIES, *QUICK))
@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.differing_executors])
@given(data=st.data())
def test_weights_are_those_of_the_pulling_triangulation(
    name: str, solver: Solver, data: st.DataObject
) -> None:
    family = FAMILIES[name]
    n = data.draw(st.integers(*family.sizes))
    kind = data.draw(st.sampled_from(KINDS))
    scale = data.draw(st.sampled_from([0.1, 1.0]))
    scores = scale * draw(family, n, kind, data.draw(st.integers(0, 2**32 - 1)))
    post = sp.sparsemap(scores, family.structure, solver=solver, weights="canonical")
    assert post.canonical[post.converged].all()
    check_canonical(family, n, scores, post)


@pytest.mark.parametrize("solver", ["native", "generic"])
@pytest.mark.parametrize("name", some_quick(FAMILIES, *QUICK))
def test_weights_are_found(name: str, solver: Solver) -> None:
    """For the largest size, with scores for which many structures are optimal."""
    family = FAMILIES[name]
    n = family.sizes[1]
    scores = 0.3 * draw_scores("normal", 6, family.shape(n), seed=0)
    post = sp.sparsemap(scores, family.structure, solver=solver, weights="canonical")
    assert post.canonical.all()
    check_canonical(family, n, scores, post)


@pytest.mark.parametrize("solver", ["native", "generic"])
@pytest.mark.parametrize("name", some_quick(FAMILIES, *QUICK))
def test_exact_ties(name: str, solver: Solver) -> None:
    family = FAMILIES[name]
    n = family.sizes[1]
    scores = torch.cat(
        [draw(family, n, "integers", seed=11, batch=6), draw(family, n, "equal", 0, 1)]
    )
    post = sp.sparsemap(scores, family.structure, solver=solver, weights="canonical")
    assert post.canonical.all()
    check_canonical(family, n, scores, post)


def test_what_rounding_left_has_no_weight() -> None:
    """After hundreds of steps among equal trees, a tree without weight is left."""
    scores = torch.full((1, 8, 9), 0.1, dtype=torch.float64)
    trees = sp.DependencyTrees(single_root=True)
    ours, theirs = [
        sp.sparsemap(scores, trees, solver=solver, weights="canonical")
        for solver in ("generic", "native")
    ]
    assert ours.canonical.all()
    assert theirs.canonical.all()
    assert sorted(ours.structures.tolist()) == sorted(theirs.structures.tolist())
    torch.testing.assert_close(
        ours.weights.sort().values, theirs.weights.sort().values, rtol=0, atol=1e-8
    )


class Orders(sp.Custom, parts_ndim=2):
    """Permutations, with an oracle in Python that loops over all of them."""

    def best(self, scores: Tensor) -> Tensor:
        orders = torch.tensor(list(permutations(range(len(scores)))))
        return orders[scores[torch.arange(len(scores)), orders].sum(-1).argmax()]

    def parts(self, structure: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(structure, len(structure))

    def check(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"expected (n, n), got {shape}")


def test_an_oracle_in_python_has_the_same() -> None:
    scores = 0.2 * draw_scores("normal", 5, (4, 4), seed=0)
    ours, theirs = [
        sp.sparsemap(scores, structure, solver="generic", weights="canonical")
        for structure in (Orders(), sp.Matching())
    ]
    assert ours.canonical.all()
    assert torch.equal(ours.structures, theirs.structures)
    torch.testing.assert_close(ours.weights, theirs.weights, rtol=0, atol=1e-12)


@pytest.mark.parametrize("solver", ["native", "generic"])
def test_square_of_the_documentation(solver: Solver) -> None:
    """Two words with two possible heads each: the pulled tree, and the diagonal."""
    scores = torch.full((4, 5), -torch.inf, dtype=torch.float64)
    scores[0, 0] = scores[1, 1] = 0.0
    scores[2, 1], scores[3, 1], scores[2, 2], scores[3, 2] = 0.4, 0.2, 0.0, 0.0
    post = sp.sparsemap(scores, sp.DependencyTrees(), solver=solver, weights="canonical")
    heads = torch.tensor([[0, 1, 1, 1], [0, 1, 1, 2], [0, 1, 2, 1], [0, 1, 2, 2]])
    likes = sp.DependencyTrees().indicator(heads, (4, 5)).flatten(1) @ preferences((4, 5)).flatten()
    diagonal = int(likes.argmax()) in (0, 3)
    expected = [0.6, 0.1, 0.0, 0.3] if diagonal else [0.3, 0.4, 0.3, 0.0]
    assert post.canonical
    assert [float(post.log_prob(tree).exp()) for tree in heads] == pytest.approx(expected)


@pytest.mark.parametrize("solver", ["native", "generic"])
@pytest.mark.parametrize("batch", [(), (2, 3), (0, 2)])
def test_batch_shapes(batch: tuple[int, ...], solver: Solver) -> None:
    flat = 0.3 * draw_scores("normal", torch.Size(batch).numel(), (4, 5), seed=0)
    options = {"structure": sp.DependencyTrees(), "solver": solver, "weights": "canonical"}
    post = sp.sparsemap(flat.reshape(*batch, 4, 5), **options)
    assert post.canonical.shape == batch
    assert post.canonical.all()
    assert torch.equal(post.weights, sp.sparsemap(flat, **options).weights)


@pytest.mark.parametrize("solver", ["native", "generic"])
def test_lengths_cut_instances_out(solver: Solver) -> None:
    family = FAMILIES["trees"]
    scores = 0.3 * draw_scores("normal", 4, (4, 5), seed=1)
    lengths = torch.tensor([1, 2, 3, 4])
    post = sp.sparsemap(
        scores, family.structure, lengths=lengths, solver=solver, weights="canonical"
    )
    assert post.canonical.all()
    for n, table, one in zip(lengths.tolist(), scores, post, strict=True):
        cut = table[:n, : n + 1]
        wanted = reference(family, n, cut, one.marginals[0, :n, : n + 1])
        parts = family.structure.indicator(one.structures[:, :n], (n, n + 1)).flatten(1)
        assert measure(parts, one.weights) == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("solver", ["native", "generic"])
def test_float32_scores_have_the_weights_of_their_values(solver: Solver) -> None:
    scores = (0.3 * draw_scores("normal", 4, (4, 5), seed=2)).float()
    single, double = [
        sp.sparsemap(table, sp.DependencyTrees(), solver=solver, weights="canonical")
        for table in (scores, scores.double())
    ]
    assert single.weights.dtype == torch.float32
    assert torch.equal(single.canonical, double.canonical)
    assert torch.equal(single.structures, double.structures)
    assert torch.equal(single.weights, double.weights.float())


def test_what_is_not_solved_keeps_its_weights() -> None:
    scores = 0.3 * draw_scores("normal", 3, (4, 5), seed=0)
    options = {"structure": sp.DependencyTrees(), "solver": "generic", "max_active": 3}
    post = sp.sparsemap(scores, weights="canonical", **options)
    assert not post.canonical.any()
    assert torch.equal(post.weights, sp.sparsemap(scores, **options).weights)


def test_calls_of_the_oracle_are_counted() -> None:
    scores = 0.3 * draw_scores("normal", 3, (4, 4), seed=0)
    asked = []

    class Counted(Orders):
        def best(self, scores: Tensor) -> Tensor:
            asked.append(scores)
            return super().best(scores)

    post = sp.sparsemap(scores, Counted(), weights="canonical")
    assert int(post.calls.sum()) == len(asked)
