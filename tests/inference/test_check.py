"""Messages for bad input say what is wrong and where."""

import pytest
import torch

import sparsewood as sp
from sparsewood.inference._check import check_magnitude

TREES = sp.DependencyTrees()
GOOD = torch.zeros(2, 3, 4, dtype=torch.float64)


@pytest.mark.parametrize("solver", ["native", "generic"])
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_the_part_is_named(solver, value: float) -> None:
    scores = GOOD.clone()
    scores[1, 2, 0] = value
    with pytest.raises(ValueError, match=r"1, 2, 0") as error:
        sp.sparsemap(scores, TREES, solver=solver)
    assert "(2, 3, 4)" in str(error.value)


@pytest.mark.parametrize("solver", ["native", "generic"])
def test_unread_parts_may_hold_anything(solver) -> None:
    scores = GOOD.clone()
    scores[:, range(3), range(1, 4)] = torch.nan  # a word as its own head
    scores[1, 2], scores[1, :, 3] = torch.inf, torch.nan
    post = sp.sparsemap(scores, TREES, lengths=torch.tensor([3, 2]), solver=solver)
    assert post.marginals.isfinite().all()
    assert post.converged.all()


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        (torch.tensor([3.0, 3.0]), "integer dtype, got torch.float32"),
        (torch.tensor([True, True]), "integer dtype, got torch.bool"),
        (torch.tensor([3]), r"one entry for each of 2 instances, got shape \(1,\)"),
        (torch.tensor([[3, 3], [3, 3]]), r"expected shape \(2,\), got \(2, 2\)"),
        (torch.tensor([3, 0]), r"lengths\[1\] is 0"),
        (torch.tensor([4, 3]), r"lengths\[0\] is 4"),
        ([3, 3], "expected a tensor, got list"),
    ],
)
def test_lengths(lengths, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.sparsemap(GOOD, TREES, lengths=lengths)


@pytest.mark.parametrize(
    ("temperature", "message"),
    [
        (0.0, "positive and finite, got 0.0"),
        (-1.0, "positive and finite, got -1.0"),
        (float("nan"), "positive and finite, got nan"),
        (float("inf"), "positive and finite, got inf"),
        (torch.tensor([1.0, 0.0]), r"temperature\[1\] must be positive"),
        (torch.ones(3), r"shape \(2,\)"),
    ],
)
def test_temperature(temperature, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.sparsemap(GOOD, TREES, temperature=temperature)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": -1e-3}, "tol must be at least 0"),
        ({"tol": float("nan")}, "tol must be at least 0"),
        ({"max_active": 0}, "max_active must be at least 1"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"solver": "fast"}, "solver must be"),
    ],
)
def test_options(options, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.sparsemap(GOOD, TREES, **options)


@pytest.mark.parametrize("call", [sp.map, sp.sparsemap, sp.marginals, sp.kbest, sp.crf_loss])
@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (None, "got None"),
        (sp.DependencyTrees, "got the class DependencyTrees"),
        (sp.FactorGraph(), "a FactorGraph is for lp_sparsemap"),
    ],
)
def test_structure(call, structure, message: str) -> None:
    more = {sp.kbest: (2,), sp.crf_loss: ()}.get(call, ())
    given = (GOOD, GOOD[:, 0].long(), structure) if call is sp.crf_loss else (GOOD, structure)
    with pytest.raises(ValueError, match=f"structure: expected a Structure.*{message}"):
        call(*given, *more)


def test_graph_and_start() -> None:
    with pytest.raises(ValueError, match="graph: expected a FactorGraph, got DependencyTrees"):
        sp.lp_sparsemap(GOOD, TREES)  # pyright: ignore[reportArgumentType]
    graph = sp.FactorGraph()
    graph.add(TREES, graph.variables(3, 4))
    with pytest.raises(ValueError, match="start: expected an LPPosterior, got int"):
        sp.lp_sparsemap(GOOD, graph, start=3)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "scores", [GOOD[..., :0], GOOD.long(), GOOD.bool(), GOOD.tolist(), torch.tensor(1.0)]
)
def test_scores(scores) -> None:
    with pytest.raises(ValueError, match="scores: expected"):
        sp.sparsemap(scores, TREES)


@pytest.mark.parametrize("value", [1e201, -1e201, torch.inf, -torch.inf, torch.nan])
def test_a_score_too_large_for_sums_is_named(value: float) -> None:
    theta = GOOD.clone()
    theta[1, 2, 0] = value
    reads = torch.ones_like(theta, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"scores\[1, 2, 0\] / temperature is .*at most 1e\+200"):
        check_magnitude(theta, reads)
    reads[1, 2, 0] = False
    check_magnitude(theta, reads)
