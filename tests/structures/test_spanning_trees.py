"""Spanning trees: counts, membership, the oracle against SciPy's, sums, and the conformance kit."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import MarginalsConformance, StructureConformance, draw_scores
from tests.fuzz.family import Family

FUZZED = [
    Family("spanning", sp.SpanningTrees(), ((2,), (3,), (4,), (5,)), lambda n: (n, n)),
]

TREES = sp.SpanningTrees()


class TestSpanningTrees(StructureConformance, MarginalsConformance):
    structure = TREES
    sizes = (2, 5)
    has_lengths = True
    shape = staticmethod(lambda n: (n, n))


def best_by_scipy(scores: Tensor) -> float | None:
    """The score of the best tree of (n, n) edges, by SciPy; None if there is none."""
    table = np.tril(scores.numpy(), -1)
    edges = np.tril(np.isfinite(scores.numpy()), -1)
    if connected_components(edges, directed=False)[0] > 1:
        return None
    costs = np.zeros(table.shape)  # no edge
    rank = np.argsort(np.argsort(-table[edges], kind="stable"), kind="stable")
    costs[edges] = rank + 1
    chosen = minimum_spanning_tree(costs).toarray() > 0
    return float(table[chosen].sum())


@settings(deadline=None, max_examples=150)
@given(
    n=st.integers(2, 30),
    kind=st.sampled_from(["normal", "large", "integers", "equal"]),
    banned=st.sampled_from([0.0, 0.3, 0.8]),
    seed=st.integers(0, 2**32 - 1),
)
def test_oracle_is_as_good_as_scipys(n: int, kind: str, banned: float, seed: int) -> None:
    scores = draw_scores(kind, 1, (n, n), seed)
    generator = torch.Generator().manual_seed(seed)
    scores[torch.rand(scores.shape, generator=generator) < banned] = -torch.inf
    expected = best_by_scipy(scores[0])
    if expected is None:
        with pytest.raises(ValueError, match="instance 0 has no structure left"):
            TREES.argmax(scores)
        return
    found = TREES.argmax(scores)
    assert TREES.contains(found, (n, n)).all()
    used = TREES.indicator(found)[0].bool()
    scale = float(scores[scores.isfinite()].abs().max())
    assert float(scores[0][used].sum()) == pytest.approx(expected, rel=0, abs=1e-12 * n * scale)


@pytest.mark.parametrize("n", range(2, 6))
def test_enumerate_lists_the_sets_of_edges_that_connect_all(n: int) -> None:
    """Membership of all sets of n - 1 edges, by SciPy's components."""
    edges = [(i, j) for i in range(n) for j in range(i)]
    trees = set()
    for chosen in itertools.combinations(edges, n - 1):
        table = np.zeros((n, n))
        table[tuple(zip(*chosen, strict=True))] = 1
        if connected_components(table, directed=False)[0] == 1:
            trees.add(chosen)
    listed = TREES.enumerate(n)
    parts = TREES.indicator(listed, (n, n))
    found = {tuple(map(tuple, one.nonzero().tolist())) for one in parts}
    assert found == {tuple(sorted(tree)) for tree in trees}
    assert len(listed) == TREES.count(n) == n ** (n - 2)
    assert torch.equal(TREES.decode(parts), listed)


def test_counts() -> None:
    assert TREES.count(1) == TREES.count(2) == 1
    assert TREES.count(20) == 20**18
    assert sp.marginals(torch.zeros(1, 20, 20), TREES).log_partition.exp().item() == pytest.approx(
        20.0**18, rel=1e-5
    )
    with pytest.raises(ValueError, match="at least one vertex, got n = 0"):
        TREES.count(0)
    for n in (1, 8):
        with pytest.raises(ValueError, match=f"2 to 7 vertices, got n = {n}"):
            TREES.enumerate(n)


@pytest.mark.parametrize(
    ("parents", "length", "legal"),
    [
        ([2, 0, 0], 4, True),
        ([2, 1, 0], 4, False),  # a cycle
        ([1, 0, 0], 4, False),  # its own parent
        ([4, 0, 0], 4, False),  # out of range
        ([2, 0, -1], 3, True),
        ([2, 0, 0], 3, False),  # padding
        ([3, 0, -1], 3, False),
        ([-1, -1, -1], 1, True),
        ([0, -1, -1], 1, False),
    ],
)
def test_contains(parents: list[int], length: int, legal: bool) -> None:
    found = TREES.contains(torch.tensor([parents]), (4, 4), torch.tensor([length]))
    assert found.item() is legal


def test_a_graph_of_one_vertex_has_a_tree_without_edges() -> None:
    scores = draw_scores("normal", 2, (3, 3), seed=0).requires_grad_()
    lengths = torch.tensor([1, 3])
    nothing = [-1, -1]
    post = sp.sparsemap(scores, TREES, lengths=lengths)
    assert post[0].structures.tolist() == [nothing]
    assert post.weights[0] == 1
    dist = sp.marginals(scores, TREES, lengths=lengths)
    assert dist.log_partition[0] == 0
    assert dist.sample(2)[:, 0].tolist() == [nothing] * 2
    best = sp.kbest(scores, TREES, 2, lengths=lengths)
    assert best.structures[0, 0].tolist() == nothing
    assert best.scores[0].tolist() == [0, -torch.inf]
    (slope,) = torch.autograd.grad(dist.entropy().sum() + post.marginals.square().sum(), scores)
    assert (slope[0] == 0).all()
    assert slope.isfinite().all()


@pytest.mark.parametrize(("n", "scale"), [(16, 1.0), (20, 0.3)])
def test_lists_of_edges_change_nothing(n: int, scale: float) -> None:
    """From 16 vertices on the solver stores trees as lists of edges as well."""
    scores = scale * draw_scores("normal", 1, (n, n), seed=n)
    post = sp.sparsemap(scores, TREES)
    other = sp.sparsemap(scores, TREES, solver="generic")
    assert post.converged.all()
    torch.testing.assert_close(post.marginals, other.marginals, rtol=0, atol=1e-8)
    parts = TREES.indicator(post.structures, (n, n))
    torch.testing.assert_close(post.expect(parts), post.marginals, rtol=0, atol=1e-12)


def test_larger_graphs_are_certified_and_sampled_as_they_should_be() -> None:
    scores = draw_scores("normal", 3, (25, 25), seed=1)
    post = sp.sparsemap(scores, TREES)
    assert post.converged.all()
    assert TREES.contains(post.structures, (25, 25)).all()
    torch.testing.assert_close(post.marginals.sum((1, 2)), torch.full((3,), 24.0).double())
    generic = sp.sparsemap(scores, TREES, solver="generic")
    torch.testing.assert_close(post.marginals, generic.marginals, rtol=0, atol=1e-6)
    dist = sp.marginals(scores, TREES)
    drawn = dist.sample(2000, generator=torch.Generator().manual_seed(0))
    share = TREES.indicator(drawn.flatten(0, 1)).unflatten(0, (2000, 3)).mean(0)
    spread = (dist.marginals * (1 - dist.marginals) / 2000).sqrt()
    assert ((share - dist.marginals).abs() <= 5 * spread + 1e-12).all()
