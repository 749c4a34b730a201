"""Paths in directed acyclic graphs: counts, membership, the oracle against SciPy's, the kit."""

import pickle
from math import comb

import networkx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsewood as sp
from sparsewood.testing import MarginalsConformance, StructureConformance, draw_scores
from tests.fuzz.family import Family

# Skips of levels, two edges between the same vertices, and edges on no path.
EDGES = [[4, 7], [2, 4], [2, 4], [9, 7], [2, 9], [2, 7], [4, 9], [7, 3], [1, 4], [3, 8]]
KNOTTED = sp.Paths(EDGES, source=2, sink=7)
GRID = sp.Paths.grid(3, 3)

FUZZED = [
    Family(
        name,
        structure,
        ((),),
        lambda structure=structure: (len(structure.edges),),
        lengths=0,
        make=f"sp.Paths({structure.edges.tolist()}, {structure.source}, {structure.sink})",
    )
    for name, structure in (("paths", KNOTTED), ("grid", GRID))
]


class OfOneGraph(StructureConformance, MarginalsConformance):
    sizes = (1, 1)
    size = staticmethod(lambda n: ())


@pytest.mark.full
class TestKnotted(OfOneGraph):
    structure = KNOTTED
    shape = staticmethod(lambda n: (len(EDGES),))


@pytest.mark.full
class TestGrid(OfOneGraph):
    structure = GRID
    shape = staticmethod(lambda n: (12,))


@pytest.mark.full
class TestOneEdge(OfOneGraph):
    structure = sp.Paths([[5, 1]], source=5, sink=1)
    shape = staticmethod(lambda n: (1,))


def draw_graph(vertices: int, share: float, seed: int) -> sp.Paths | None:
    """A graph whose vertices have random names; None if no path leads to the sink."""
    generator = torch.Generator().manual_seed(seed)
    above = torch.ones(vertices, vertices).triu(1) > 0
    chosen = (torch.rand(vertices, vertices, generator=generator) < share) & above
    edges = torch.randperm(vertices, generator=generator)[chosen.nonzero()]
    edges = edges[torch.randperm(len(edges), generator=generator)]
    graph = networkx.DiGraph(edges.tolist())
    graph.add_nodes_from([0, 1])
    return sp.Paths(edges, 0, 1) if networkx.has_path(graph, 0, 1) else None


@settings(deadline=None, max_examples=100)
@given(
    vertices=st.integers(2, 12),
    share=st.sampled_from([0.2, 0.5, 0.9]),
    kind=st.sampled_from(["normal", "integers", "equal", "forbidden"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_best_path_is_that_of_networkx(
    vertices: int, share: float, kind: str, seed: int
) -> None:
    paths = draw_graph(vertices, share, seed)
    if paths is None:
        return
    scores = draw_scores(kind, 1, (len(paths.edges),), seed)
    graph = networkx.DiGraph()
    for (tail, head), score in zip(paths.edges.tolist(), scores[0].tolist(), strict=True):
        if score > -torch.inf:
            graph.add_edge(tail, head, weight=-score)
    if not (graph.has_node(0) and graph.has_node(1) and networkx.has_path(graph, 0, 1)):
        with pytest.raises(ValueError, match="instance 0 has no structure left"):
            sp.map(scores, paths)
        return
    expected = -networkx.bellman_ford_path_length(graph, 0, 1)
    best = sp.map(scores, paths)
    assert paths.contains(best.structures, (len(paths.edges),)).all()
    assert float(best.scores) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    walk = paths.vertices(best.structures)[0].tolist()
    assert walk[0] == 0
    assert walk[-1] == 1
    assert networkx.is_path(graph, walk)


@settings(deadline=None, max_examples=40)
@given(vertices=st.integers(2, 7), seed=st.integers(0, 2**32 - 1))
def test_paths_of_any_graph_are_by_enumeration(vertices: int, seed: int) -> None:
    paths = draw_graph(vertices, 0.7, seed)
    if paths is None:
        return
    everything = paths.enumerate()
    graph = networkx.DiGraph(paths.edges.tolist())
    listed = {tuple(path) for path in networkx.all_simple_paths(graph, 0, 1)}
    walks = paths.vertices(everything).tolist()
    assert {tuple(v for v in walk if v >= 0) for walk in walks} == listed
    assert len(everything) == paths.count() == len(listed)
    cells = torch.cartesian_prod(*[torch.arange(2)] * min(len(paths.edges), 10))
    cells = torch.nn.functional.pad(
        cells.reshape(len(cells), -1), (0, max(0, len(paths.edges) - 10))
    )
    inside = {tuple(one) for one in cells[paths.contains(cells, (len(paths.edges),))].tolist()}
    assert inside == {tuple(one) for one in everything.tolist()} & {
        tuple(one) for one in cells.tolist()
    }
    scores = draw_scores("normal", 2, (len(paths.edges),), seed)
    each = scores @ everything.double().T
    dist = sp.marginals(scores, paths)
    torch.testing.assert_close(dist.log_partition, each.logsumexp(-1))
    torch.testing.assert_close(dist.marginals, each.softmax(-1) @ everything.double())
    native, generic = (sp.sparsemap(scores, paths, solver=s) for s in ("native", "generic"))
    assert native.converged.all()
    torch.testing.assert_close(native.marginals, generic.marginals, rtol=0, atol=1e-7)


def test_counts() -> None:
    assert sp.Paths.grid(5, 5).count() == comb(8, 4)
    assert sp.Paths.grid(4, 4, diagonal=True).count() == 63  # a Delannoy number
    assert KNOTTED.count() == 6
    assert sp.Paths.grid(1, 4).count() == 1
    zeros = torch.zeros(1, 2 * 40 * 39, dtype=torch.float64)
    found = sp.marginals(zeros, sp.Paths.grid(40, 40)).log_partition.exp().item()
    assert found == pytest.approx(comb(78, 39), rel=1e-10)
    with pytest.raises(ValueError, match="at most 20000 paths"):
        sp.Paths.grid(12, 12).enumerate()


def test_edges_on_no_path_are_never_read() -> None:
    scores = draw_scores("normal", 1, (len(EDGES),), seed=0)
    unread = ~KNOTTED.reads(scores)
    assert unread.nonzero()[:, 1].tolist() == [7, 8, 9]
    dirty = scores.masked_fill(unread, torch.nan).requires_grad_()
    post, dist = sp.sparsemap(dirty, KNOTTED), sp.marginals(dirty, KNOTTED)
    assert torch.equal(post.marginals, sp.sparsemap(scores, KNOTTED).marginals)
    total = dist.log_partition.sum() + post.marginals.square().sum()
    (slope,) = torch.autograd.grad(total, dirty)
    assert (slope[unread] == 0).all()
    assert slope.isfinite().all()


def test_vertices_of_a_batch() -> None:
    structures = torch.tensor([[1, 1, 0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0, 0, 0]])
    assert KNOTTED.vertices(structures).tolist() == [[2, 4, 7], [2, 7, -1]]
    assert KNOTTED.vertices(structures[:, None]).shape == (2, 1, 3)
    assert KNOTTED.vertices(structures[0]).tolist() == [2, 4, 7]


def test_equality_and_copies() -> None:
    again = sp.Paths(torch.tensor(EDGES, dtype=torch.int32), 2, 7)
    assert again == KNOTTED
    assert hash(again) == hash(KNOTTED)
    assert KNOTTED not in (sp.Paths(EDGES, 2, 9), sp.Paths(EDGES[:-1], 2, 7), GRID)
    scores = draw_scores("normal", 2, (len(EDGES),), seed=1)
    copied = pickle.loads(pickle.dumps(KNOTTED))
    assert torch.equal(copied.argmax(scores), KNOTTED.argmax(scores))
    edges = torch.tensor(EDGES)
    paths = sp.Paths(edges, 2, 7)
    edges.zero_()
    assert paths == KNOTTED
    assert repr(KNOTTED) == "Paths(10 edges, source=2, sink=7)"


@pytest.mark.parametrize(
    ("edges", "source", "sink", "message"),
    [
        (
            [[0, 1], [1, 2], [2, 1], [2, 3]],
            0,
            3,
            r"the edges have a cycle: (1 -> 2 -> 1|2 -> 1 -> 2)",
        ),
        ([[0, 1], [1, 1]], 0, 1, "the edges have a cycle: 1 -> 1"),
        ([[0, 1], [5, 6], [6, 5]], 0, 1, r"cycle: (5 -> 6 -> 5|6 -> 5 -> 6)"),
        ([[0, 1], [2, 3]], 0, 3, "no path leads from the source 0 to the sink 3"),
        ([[0, 1]], 1, 0, "no path leads from the source 1 to the sink 0"),
        ([[0, 1]], 0, 9, "no path leads"),
        ([[0, 1]], 0, 0, "expected two vertices"),
        ([[0, -1]], 0, 1, r"edges\[0\] is \[0, -1\]"),
        ([[0.0, 1.0]], 0, 1, "expected an integer dtype, got torch.float32"),
        ([[0, 1, 2]], 0, 1, r"expected \(E, 2\) with at least one edge, got \(1, 3\)"),
        (torch.zeros(0, 2).long(), 0, 1, "at least one edge"),
        ([[0, 1]], -1, 1, "source must be at least 0"),
        ([[0, 1]], 0, "1", "sink must be a whole number"),
    ],
)
def test_graphs_that_are_refused(edges: object, source: int, sink: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.Paths(edges, source, sink)


def test_a_long_cycle_is_shortened_in_the_message() -> None:
    edges = [[k, (k + 1) % 100] for k in range(100)]
    with pytest.raises(ValueError, match=r"cycle: (\d+ -> ){6}\.\.\.( -> \d+){5}$"):
        sp.Paths(edges, 0, 5)


def test_scores_that_are_refused() -> None:
    for shape in ((2, 9), (2, 11), (3, 2, 10)):
        with pytest.raises(ValueError, match=r"expected \(\*batch, 10\), one score per edge"):
            KNOTTED.validate(torch.zeros(shape))
    with pytest.raises(ValueError, match="expected lengths=None"):
        sp.map(torch.zeros(2, 10), KNOTTED, lengths=torch.tensor([10, 10]))
    with pytest.raises(ValueError, match="expected a grid of at least two cells"):
        sp.Paths.grid(1, 1)


def test_a_larger_grid_is_certified_and_sampled_as_it_should_be() -> None:
    grid = sp.Paths.grid(12, 12)
    scores = -draw_scores("normal", 3, (len(grid.edges),), seed=0).abs()
    post = sp.sparsemap(scores, grid)
    assert post.converged.all()
    assert grid.contains(post.structures, (len(grid.edges),)).all()
    generic = sp.sparsemap(scores, grid, solver="generic")
    torch.testing.assert_close(post.marginals, generic.marginals, rtol=0, atol=1e-6)
    dist = sp.marginals(scores, grid)
    drawn = dist.sample(2000, generator=torch.Generator().manual_seed(0)).double().mean(0)
    spread = (dist.marginals * (1 - dist.marginals) / 2000).sqrt()
    assert ((drawn - dist.marginals).abs() <= 5 * spread + 1e-12).all()


def test_calls_are_one_graph() -> None:
    scores = -draw_scores("normal", 2, (12,), seed=0).abs()
    costs = -draw_scores("normal", 2, (3, 4), seed=0).abs()

    def calls(scores: torch.Tensor, costs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        dist = sp.marginals(scores, GRID)
        found = sp.map(scores, GRID), sp.map(costs, sp.GridPaths())
        posts = sp.sparsemap(scores, GRID), sp.sparsemap(costs, sp.GridPaths())
        return dist.log_partition, *(best.scores for best in found), *(p.marginals for p in posts)

    torch.compiler.reset()
    graph = torch.compile(calls, fullgraph=True, backend="aot_eager")
    for found, expected in zip(graph(scores, costs), calls(scores, costs), strict=True):
        torch.testing.assert_close(found, expected)
