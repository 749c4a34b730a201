"""Structures as PyEPO problems, with its losses."""

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pyepo.func
import pyepo.metric
import pytest
import torch
from pyepo import EPO
from pyepo.data import shortestpath
from pyepo.data.dataset import optDataset
from pyepo.model.utils import _get_grid_arcs
from scipy.optimize import linprog
from torch import Tensor
from torch.testing import assert_close

import sparsewood as sp
from sparsewood.pyepo import StructureModel
from tests.seats import Seats

CASES = [
    (sp.DependencyTrees(), (3, 4), (3,)),
    (sp.DependencyTrees(projective=True, single_root=True), (4, 5), (4,)),
    (sp.Matching(), (3, 3), (3, 3)),
    (sp.Matching(partial=True), (2, 3), (2, 3)),
    (sp.Alignment(), (3, 4), (3, 4)),
    (sp.Alignment(gaps=True), (3, 3), (3, 3)),
]
families = pytest.mark.parametrize(("structure", "shape", "size"), CASES, ids=str)
senses = pytest.mark.parametrize("sense", [EPO.MINIMIZE, EPO.MAXIMIZE], ids=["min", "max"])


def draw(shape: tuple[int, ...], seed: int, batch: int = 6) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, torch.Size(shape).numel(), dtype=torch.float64, generator=generator)


def best_of_all(
    structure: sp.Structure, shape: tuple[int, ...], size: tuple[int, ...], sense: int
) -> Callable[[Tensor], Tensor]:
    """Costs (B, P) -> the parts (B, P) of the best structures, by enumeration."""
    columns = structure.indicator(structure.enumerate(*size), shape).flatten(1)
    return lambda costs: columns[(sense * (costs @ columns.T)).argmin(-1)]


@families
@senses
def test_the_three_methods(
    structure: sp.Structure, shape: tuple[int, ...], size: tuple[int, ...], sense: EPO.ModelSense
) -> None:
    model = StructureModel(structure, shape, sense=sense)
    costs = draw(shape, seed=0)
    assert model.num_cost == costs.shape[1]
    assert model.modelSense == sense
    expected = best_of_all(structure, shape, size, sense)(costs)
    for c, wanted in zip(costs, expected, strict=True):
        for given in (c, c.numpy(), c.tolist()):
            model.setObj(given)
            solution, value = model.solve()
            assert solution.tolist() == wanted.tolist()
            assert value == pytest.approx(float(c @ wanted))


@families
@senses
def test_spo_plus(
    structure: sp.Structure, shape: tuple[int, ...], size: tuple[int, ...], sense: EPO.ModelSense
) -> None:
    """Elmachtoub & Grigas 2022, section 3: max_w (c - 2 c')^T w + 2 c'^T w* - c^T w*."""
    model = StructureModel(structure, shape, sense=sense)
    best = best_of_all(structure, shape, size, sense)
    cost, predicted = draw(shape, seed=1), draw(shape, seed=2).requires_grad_()
    chosen = best(cost)
    value = (cost * chosen).sum(-1, keepdim=True)
    loss = pyepo.func.SPOPlus(model, reduction="none")(predicted, cost, chosen, value)
    tilted = 2 * predicted.detach() - cost
    other = best(tilted)
    expected = sense * (
        2 * (predicted.detach() * chosen).sum(-1) - value[:, 0] - (tilted * other).sum(-1)
    )
    assert_close(loss.detach(), expected)
    assert (loss >= -1e-9).all()
    (slope,) = torch.autograd.grad(loss.sum(), predicted)
    assert_close(slope, sense * 2 * (chosen - other))


@families
def test_blackbox(structure: sp.Structure, shape: tuple[int, ...], size: tuple[int, ...]) -> None:
    """Vlastelica et al. 2020: the forward solution, [w(c + lambda g) - w(c)] / lambda backwards."""
    model, best = StructureModel(structure, shape), best_of_all(structure, shape, size, 1)
    predicted, on_solution = draw(shape, seed=3).requires_grad_(), draw(shape, seed=4)
    solution = pyepo.func.blackboxOpt(model, lambd=2.0)(predicted)
    assert_close(solution.detach(), best(predicted.detach()))
    (slope,) = torch.autograd.grad(solution, predicted, on_solution)
    moved = best(predicted.detach() + 2.0 * on_solution)
    assert_close(slope, (moved - solution.detach()) / 2.0)


@families
@senses
def test_perturbed_fenchel_young(
    structure: sp.Structure, shape: tuple[int, ...], size: tuple[int, ...], sense: EPO.ModelSense
) -> None:
    """Berthet et al. 2020, section 4: the gradient is the true solution less the mean perturbed
    one, which for little noise is the best of the predicted costs."""
    model = StructureModel(structure, shape, sense=sense)
    best = best_of_all(structure, shape, size, sense)
    chosen, predicted = best(draw(shape, seed=5)), draw(shape, seed=6).requires_grad_()
    loss = pyepo.func.perturbedFenchelYoung(model, n_samples=2, sigma=1e-9, reduction="sum")
    (slope,) = torch.autograd.grad(loss(predicted, chosen), predicted)
    assert_close(slope, sense * (chosen - best(predicted.detach())))


def test_a_dataset_and_its_regret() -> None:
    model = StructureModel(sp.DependencyTrees(), (3, 4))
    costs = draw((3, 4), seed=6, batch=10).float()
    data = optDataset(model, costs.numpy(), costs.numpy())
    best = best_of_all(sp.DependencyTrees(), (3, 4), (3,), 1)(costs.double())
    assert_close(data.sols, best.float())
    assert_close(data.objs[:, 0], (costs * best).sum(-1).float())
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    assert pyepo.metric.regret(torch.nn.Identity(), model, loader) == pytest.approx(0, abs=1e-6)

    class Wrong(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return -x

    assert pyepo.metric.regret(Wrong(), model, loader) > 0.1


def test_losses_over_a_pool_of_solutions() -> None:
    model = StructureModel(sp.Matching(), (3, 3))
    costs = draw((3, 3), seed=7, batch=10).float()
    data = optDataset(model, costs.numpy(), costs.numpy())
    contrast = pyepo.func.NCE(model, solve_ratio=0.5, dataset=data)
    predicted = torch.zeros_like(costs).requires_grad_()
    (slope,) = torch.autograd.grad(contrast(predicted, data.sols), predicted)
    pool = data.sols.unique(dim=0)  # mean over the pool of <c', w* - w>
    assert_close(slope, (data.sols - pool.mean(0)) / len(costs))


@pytest.mark.parametrize("seed", range(5))
def test_shortest_paths_are_those_of_pyepo(seed: int) -> None:
    """The benchmark of PyEPO: a 5 x 5 grid, right and down. Its own model needs a licence or a
    further solver, so its linear program is solved by SciPy."""
    grid = sp.Paths.grid(5, 5)
    arcs = grid.edges.tolist()
    assert [list(arc) for arc in _get_grid_arcs((5, 5))] == arcs
    costs = np.random.default_rng(seed).uniform(0.1, 10, len(arcs))
    model = StructureModel(grid, (len(arcs),))
    model.setObj(costs)
    solution, value = model.solve()
    flow = np.zeros((25, len(arcs)))
    for e, (tail, head) in enumerate(arcs):
        flow[tail, e], flow[head, e] = -1, 1
    balance = np.zeros(25)
    balance[0], balance[-1] = -1, 1
    optimum = linprog(costs, A_eq=flow, b_eq=balance, bounds=(0, 1))
    assert value == pytest.approx(optimum.fun)
    assert solution.tolist() == pytest.approx(optimum.x.tolist(), abs=1e-7)
    features, drawn = shortestpath.genData(10, 3, (5, 5), seed=seed)
    data = optDataset(model, features, drawn)
    assert_close(data.objs[:, 0], (data.costs * data.sols).sum(-1))


def test_lengths_and_parts_that_are_never_read() -> None:
    trees = StructureModel(sp.DependencyTrees(), (4, 5), lengths=2)
    costs = np.full(20, np.nan)
    costs.reshape(4, 5)[:2, :3] = [[1.0, 9.0, 2.0], [1.5, 0.5, 9.0]]
    trees.setObj(costs)
    solution, value = trees.solve()
    assert value == 1.5
    assert solution.reshape(4, 5).nonzero()[1].tolist() == [0, 1]
    pairs = StructureModel(sp.Matching(), (3, 3), lengths=(2, 1))
    pairs.setObj(np.array([5.0, 0, 0, 4, 0, 0, 0, 0, 0]))
    assert pairs.solve()[1] == 4.0


def test_an_infinite_cost_forbids() -> None:
    model = StructureModel(sp.Matching(), (2, 2))
    model.setObj([np.inf, 1.0, 1.0, -50.0])
    assert model.solve()[0].tolist() == [0, 1, 1, 0]
    model.setObj([np.inf, np.inf, 1.0, 1.0])
    with pytest.raises(ValueError, match="no structure left"):
        model.solve()


def test_a_structure_of_your_own() -> None:
    model = StructureModel(Seats(), (4,), sense=EPO.MAXIMIZE)
    model.setObj([0.0, 1.0, 2.0, 0.0])
    solution, value = model.solve()
    assert (solution.tolist(), value) == ([0, 1, 1, 0], 3.0)


def test_copies() -> None:
    model = StructureModel(sp.Alignment(), (3, 4), sense=EPO.MAXIMIZE)
    costs = draw((3, 4), seed=8)[0]
    model.setObj(costs)
    expected = model.solve()[0].tolist()
    for again in (model.copy(), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again.solve()[0].tolist() == expected
    fresh = model.rebuild()
    fresh.setObj(costs)
    assert fresh.solve()[0].tolist() == expected
    assert repr(model) == "StructureModel(Alignment(gaps=False), (3, 4))"


def test_what_cannot_be_asked() -> None:
    with pytest.raises(ValueError, match="expected a Structure"):
        StructureModel(sp.Matching, (2, 2))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"arc scores: expected .* got shape \(1, 3, 3\)"):
        StructureModel(sp.DependencyTrees(), (3, 3))
    with pytest.raises(ValueError, match="lengths"):
        StructureModel(sp.DependencyTrees(), (3, 4), lengths=4)
    with pytest.raises(ValueError, match="sense must be"):
        StructureModel(sp.Matching(), (2, 2), sense=0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"costs: expected \(4,\).*got shape \(2, 2\)"):
        StructureModel(sp.Matching(), (2, 2)).setObj(torch.zeros(2, 2))
