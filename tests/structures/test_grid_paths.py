"""Paths through grids of costs: against all simple paths, SciPy's Dijkstra and enumeration."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import lil_matrix
from scipy.sparse.csgraph import dijkstra
from torch import Tensor
from torch.testing import assert_close

import sparsewood as sp
from sparsewood.testing import StructureConformance, draw_scores
from sparsewood.testing.reference import project
from tests.fuzz.family import Family
from tests.inference.test_kernels import on_host
from tests.sides import Square

FUZZED = [
    Family(
        f"grid-paths-{grid.neighbours}",
        grid,
        ((1, 1), (1, 3), (2, 2), (2, 3), (3, 2), (3, 3)),
        lambda n, m: (n, m),
        fill=0,
        lengths=2,
        summed=False,
        fit=lambda scores: -np.abs(scores),
    )
    for grid in (sp.GridPaths(4), sp.GridPaths(8))
]


class TestFourNeighbours(Square, StructureConformance):
    structure = sp.GridPaths(4)
    sizes = (1, 3)

    @staticmethod
    def fit(scores: Tensor) -> Tensor:
        return -scores.abs()


@pytest.mark.full
class TestEightNeighbours(TestFourNeighbours):
    structure = sp.GridPaths(8)


both = pytest.mark.parametrize("grid", [sp.GridPaths(4), sp.GridPaths(8)], ids=["4", "8"])


def draw_costs(kind: str, batch: int, shape: tuple[int, ...], seed: int) -> Tensor:
    """Scores of at most 0."""
    return -draw_scores(kind, batch, shape, seed).abs()


def neighbours(grid: sp.GridPaths, i: int, j: int, n: int, m: int) -> list[tuple[int, int]]:
    near = itertools.product((-1, 0, 1), repeat=2)
    steps = [(a, b) for a, b in near if (a, b) != (0, 0) and (grid.neighbours == 8 or 0 in (a, b))]
    return [(i + a, j + b) for a, b in steps if 0 <= i + a < n and 0 <= j + b < m]


def simple_paths(grid: sp.GridPaths, n: int, m: int) -> list[Tensor]:
    """The cells of every path that visits no cell twice, as 0/1 matrices."""
    found, waiting = [], [[(0, 0)]]
    while waiting:
        path = waiting.pop()
        if path[-1] == (n - 1, m - 1):
            cells = torch.zeros(n, m, dtype=torch.int64)
            cells[tuple(zip(*path, strict=True))] = 1
            found.append(cells)
        else:
            near = neighbours(grid, *path[-1], n, m)
            waiting += [[*path, cell] for cell in near if cell not in path]
    return found


def cost_by_scipy(costs: np.ndarray, grid: sp.GridPaths) -> float:
    """The cost of the cheapest path through the cells of finite cost; inf if there is none."""
    n, m = costs.shape
    edges = lil_matrix((n * m + 1, n * m + 1))
    for i, j in itertools.product(range(n), range(m)):
        for x, y in neighbours(grid, i, j, n, m):
            if np.isfinite(costs[x, y]) and np.isfinite(costs[i, j]):
                edges[i * m + j, x * m + y] = costs[x, y] + 1  # 0 would be no edge
    if not np.isfinite(costs[0, 0]) or not np.isfinite(costs[-1, -1]):
        return np.inf
    # Ones are added by the number of cells: all paths are extended to the same number below.
    best = np.full((n * m, n * m + 1), np.inf)  # cost by cell and number of steps
    best[0, 0] = costs[0, 0]
    matrix = edges.tocoo()
    for k in range(n * m):
        np.minimum.at(best[:, k + 1], matrix.col, best[matrix.row, k] + matrix.data - 1)
    return float(best[-1].min())


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 7),
    m=st.integers(1, 7),
    near=st.sampled_from([4, 8]),
    kind=st.sampled_from(["normal", "large", "integers", "equal", "forbidden"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_oracle_finds_the_cheapest_path(
    n: int, m: int, near: int, kind: str, seed: int
) -> None:
    grid = sp.GridPaths(near)  # pyright: ignore[reportArgumentType]
    scores = draw_costs(kind, 1, (n, m), seed)
    expected = cost_by_scipy(-scores[0].numpy(), grid)
    if expected == np.inf:
        with pytest.raises(ValueError, match="instance 0 has no structure left"):
            sp.map(scores, grid)
        with pytest.raises(ValueError, match="instance 0 has no structure left"):
            sp.sparsemap(scores, grid)
        return
    best = sp.map(scores, grid)
    assert grid.contains(best.structures, (n, m)).all()
    assert float(best.scores) == pytest.approx(-expected, rel=1e-9, abs=1e-9)


@both
def test_a_long_way_round_is_that_of_dijkstra(grid: sp.GridPaths) -> None:
    generator = torch.Generator().manual_seed(0)
    costs = 0.01 + torch.rand(40, 50, dtype=torch.float64, generator=generator) ** 8
    edges = lil_matrix((2000, 2000))
    for i, j in itertools.product(range(40), range(50)):
        for x, y in neighbours(grid, i, j, 40, 50):
            edges[i * 50 + j, x * 50 + y] = costs[x, y]
    wanted = float(dijkstra(edges.tocsr(), indices=0)[-1] + costs[0, 0])
    assert float(sp.map(-costs, grid).scores) == pytest.approx(-wanted)


@both
def test_structures_are_the_paths_without_short_cuts(grid: sp.GridPaths) -> None:
    """Of all simple paths, those that contain no other; and `contains` accepts no other matrix."""
    for n, m in ((1, 1), (1, 4), (3, 1), (2, 3), (3, 3)):
        everything = {tuple(one.flatten().tolist()) for one in simple_paths(grid, n, m)}
        least = {
            one
            for one in everything
            if not any(
                other != one and all(a <= b for a, b in zip(other, one, strict=True))
                for other in everything
            )
        }
        listed = grid.enumerate(n, m)
        assert {tuple(one.flatten().tolist()) for one in listed} == least
        assert len(listed) == len(least) == grid.count(n, m)
        cells = torch.cartesian_prod(*[torch.arange(2)] * (n * m)).reshape(-1, n, m)
        inside = cells[grid.contains(cells, (n, m))]
        assert {tuple(one.flatten().tolist()) for one in inside} == least
    assert not grid.contains(torch.tensor([[[2, 1], [0, 1]]]), (2, 2)).any()


def test_counts() -> None:
    assert [sp.GridPaths(4).count(n, n) for n in (1, 2, 3, 4)] == [1, 2, 6, 20]
    assert [sp.GridPaths(8).count(n, n) for n in (1, 2, 3, 4)] == [1, 1, 3, 15]
    with pytest.raises(ValueError, match=r"through at most 25 cells, got \(9, 9\)"):
        sp.GridPaths(8).count(9, 9)
    with pytest.raises(ValueError, match="at least one row"):
        sp.GridPaths().count(0, 2)


@both
@pytest.mark.parametrize("kind", ["normal", "integers", "equal", "small"])
def test_sparsemap_is_the_projection(grid: sp.GridPaths, kind: str) -> None:
    """Onto the hull of all simple paths: those with short cuts change nothing."""
    scores = draw_costs(kind, 4, (3, 3), seed=0)
    columns = torch.stack(simple_paths(grid, 3, 3)).flatten(1).double()
    post = sp.sparsemap(scores, grid)
    assert post.converged.all()
    assert grid.contains(post.structures, (3, 3)).all()
    for theta, u in zip(scores.flatten(1), post.marginals.flatten(1), strict=True):
        assert_close(u, project(theta, columns), rtol=0, atol=1e-6)


@both
def test_derivatives(grid: sp.GridPaths) -> None:
    scores = (2 * draw_costs("normal", 2, (4, 5), seed=2)).requires_grad_()
    post = sp.sparsemap(scores, grid)
    assert (post.sizes > 1).all()

    def infer(x: Tensor) -> Tensor:
        return sp.sparsemap(x, grid).marginals

    assert torch.autograd.gradcheck(infer, scores, fast_mode=True)
    gold = grid.enumerate(4, 5)[:2]
    for loss in (sp.sparsemap_loss, sp.perceptron_loss):
        assert torch.autograd.gradcheck(
            lambda x, loss=loss: loss(x, gold, grid), scores, fast_mode=True
        )


@both
def test_a_larger_grid_is_certified(grid: sp.GridPaths) -> None:
    scores = draw_costs("normal", 3, (9, 11), seed=0)
    post = sp.sparsemap(scores, grid)
    assert post.converged.all()
    assert grid.contains(post.structures, (9, 11)).all()
    assert (sp.sparsemap(scores, grid, max_support=3).sizes <= 3).all()


@both
def test_padding_is_never_read(grid: sp.GridPaths) -> None:
    lengths = torch.tensor([[4, 5], [2, 3], [1, 1]])
    scores = draw_costs("normal", 3, (4, 5), seed=1)
    padded = scores.masked_fill(~grid.reads(scores, lengths), torch.nan).requires_grad_()
    best, post = sp.map(padded, grid, lengths=lengths), sp.sparsemap(padded, grid, lengths=lengths)
    (slope,) = torch.autograd.grad(post.marginals.square().sum(), padded)
    assert slope.isfinite().all()
    assert grid.contains(best.structures, (4, 5), lengths).all()
    assert not grid.contains(best.structures, (4, 5)).all()
    for b, (n, m) in enumerate(lengths.tolist()):
        one = scores[b : b + 1, :n, :m]
        assert torch.equal(best.structures[b, :n, :m], sp.map(one, grid).structures[0])
        assert torch.equal(post.marginals[b, :n, :m], sp.sparsemap(one, grid).marginals[0])
        assert post.marginals[b].sum() == post.marginals[b, :n, :m].sum()


def test_any_batch_dimensions_and_dtypes() -> None:
    grid, flat = sp.GridPaths(), draw_costs("normal", 6, (3, 4), seed=0)
    deep = sp.map(flat.reshape(2, 3, 3, 4), grid)
    assert torch.equal(deep.structures.flatten(0, 1), sp.map(flat, grid).structures)
    assert sp.map(flat[0], grid).structures.shape == (3, 4)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        scores = flat.to(dtype)
        before = scores.clone()
        assert sp.sparsemap(scores, grid).marginals.dtype == dtype
        assert torch.equal(scores, before)
    assert len(sp.map(flat[:0], grid).structures) == len(sp.sparsemap(flat[:0], grid)) == 0


@both
def test_kernels_find_what_the_host_finds(grid: sp.GridPaths, device: torch.device) -> None:
    lengths = torch.tensor([[4, 5], [2, 3], [1, 1], [4, 4]])
    scores = draw_costs("normal", 4, (4, 5), seed=4)

    def best() -> Tensor:
        return sp.map(scores.to(device), grid, lengths=lengths.to(device)).structures.cpu()

    def post() -> Tensor:
        return sp.sparsemap(scores.to(device), grid, lengths=lengths.to(device)).marginals.cpu()

    assert torch.equal(best(), on_host(best))
    assert_close(post(), on_host(post), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="has no structure left"):
        sp.map(torch.full_like(scores, -torch.inf).to(device), grid)


def test_ties_take_the_fewest_cells_each_time() -> None:
    zero = torch.zeros(1, 4, 4)
    assert torch.equal(sp.GridPaths(8).argmax(zero)[0], torch.eye(4).long())
    assert sp.GridPaths(4).argmax(zero).sum() == 7
    assert torch.equal(sp.GridPaths(4).argmax(zero), sp.GridPaths(4).argmax(zero))


def test_rewards_are_refused() -> None:
    scores = -torch.ones(2, 3, 4, 4)
    scores[1, 2, 0, 3] = 0.5
    grid = sp.GridPaths()
    gold = grid.argmax(-torch.ones(6, 4, 4)).reshape(2, 3, 4, 4)
    for call in (sp.map, sp.sparsemap):
        with pytest.raises(ValueError, match=r"scores\[1, 2, 0, 3\] is 0.5: expected costs"):
            call(scores, grid)
    with pytest.raises(ValueError, match="expected costs with a minus sign, at most 0"):
        sp.sparsemap_loss(scores, gold, grid)
    scores[1, 2, 0, 3] = torch.inf
    with pytest.raises(ValueError, match=r"scores\[1, 2, 0, 3\] is \+inf"):
        sp.sparsemap(scores, grid)


def test_what_needs_other_scores_is_refused() -> None:
    grid, scores = sp.GridPaths(), -torch.ones(1, 3, 3)
    gold = grid.argmax(scores)
    for call in (
        lambda: sp.sparsemap(scores, grid, weights="canonical"),
        lambda: sp.kbest(scores, grid, 2),
        lambda: sp.max_marginals(scores, grid),
        lambda: sp.hinge_loss(scores, gold, grid),
    ):
        with pytest.raises(ValueError, match="only for scores of at most 0"):
            call()
    graph = sp.FactorGraph()
    with pytest.raises(ValueError, match="expected an oracle for scores of any sign"):
        graph.add(grid, graph.variables(3, 3))
    with pytest.raises(ValueError, match="define log_partition, or use sparsemap"):
        sp.marginals(scores, grid)


def test_input_that_is_refused() -> None:
    grid = sp.GridPaths()
    with pytest.raises(ValueError, match="expected 4 or 8, got 6"):
        sp.GridPaths(6)  # pyright: ignore[reportArgumentType]
    for shape in ((3, 4), (2, 0, 3), (1, 30_001, 1)):
        with pytest.raises(ValueError, match=r"expected \(\*batch, n, m\)"):
            grid.validate(torch.zeros(()).expand(shape))
    with pytest.raises(ValueError, match="floating dtype"):
        grid.validate(torch.zeros(1, 2, 2).long())
    for lengths in ([[2, 3]], [[0, 2]], [2]):
        with pytest.raises(ValueError, match="lengths"):
            sp.map(-torch.ones(1, 2, 2), grid, lengths=torch.tensor(lengths))
