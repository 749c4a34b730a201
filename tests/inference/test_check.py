"""Messages for bad input name the problem and the location."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.inference._check import check_magnitude
from tests.graphs import forest

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


@pytest.mark.parametrize("value", [torch.nan, torch.inf, 1e250])
@pytest.mark.parametrize("call", [sp.sparsemap, sp.marginals])
def test_scores_that_need_a_gradient_are_refused_without_a_warning(call, value: float) -> None:
    scores = GOOD.clone().index_fill_(0, torch.tensor(1), value).requires_grad_()
    with pytest.raises(ValueError, match=r"scores\[1, 0, 0\]"):
        call(scores, TREES)


@pytest.mark.parametrize("call", [sp.sparsemap, sp.marginals])
def test_a_temperature_that_needs_a_gradient_is_refused_without_a_warning(call) -> None:
    with pytest.raises(ValueError, match=r"temperature\[1\] must be positive"):
        call(GOOD, TREES, temperature=torch.tensor([1.0, -1.0], requires_grad=True))


@pytest.mark.parametrize("solver", ["native", "generic"])
def test_a_low_temperature_does_not_forbid_a_part(solver) -> None:
    with pytest.raises(ValueError, match=r"scores\[0, 0, 0\] / temperature is"):
        sp.sparsemap(GOOD - 1, TREES, temperature=1e-310, solver=solver)


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
        (torch.tensor([3]), r"expected shape \(2,\), got \(1,\)"),
        (torch.tensor([[3, 3], [3, 3]]), r"expected shape \(2,\), got \(2, 2\)"),
        (torch.tensor([3, 0]), r"lengths\[1\] is 0"),
        (torch.tensor([4, 3]), r"lengths\[0\] is 4"),
        ([3, 3], "expected a tensor, got list"),
        (torch.tensor([3, 3]).to_sparse(), "lengths: expected a dense tensor"),
        (torch.tensor([3, 3], device="meta"), "lengths: .* on the meta device"),
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
        (torch.ones(2, dtype=torch.complex64), "real numbers, got torch.complex64"),
        (torch.ones(2, dtype=torch.bool), "real numbers, got torch.bool"),
        (torch.ones(2).to_sparse(), "temperature: expected a dense tensor"),
        (torch.ones(2, device="meta"), "temperature: .* on the meta device"),
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
        (sp.FactorGraph(), "pass a FactorGraph to lp_sparsemap or sparsemap_loss"),
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


class Pair(sp.Custom):
    """Two items side by side."""

    def best(self, scores: Tensor) -> Tensor:
        left = (scores[:-1] + scores[1:]).argmax()
        return (torch.arange(len(scores)) - left).clamp(-1, 2) % 3 < 2

    def parts(self, structure: Tensor) -> Tensor:
        return structure

    def check(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 1:
            raise ValueError(f"expected (n,), got {shape}")


def _items() -> sp.FactorGraph:
    graph = sp.FactorGraph()
    x = graph.variables(4)
    graph.add(sp.Xor(), x[:2])
    graph.add(sp.Or(), x[1:])
    return graph


HEADS = torch.zeros(1, 3, dtype=torch.int64)
ITEMS = torch.tensor([[1, 1, 0, 0]])
SHAPES = {4: (1, 4), 3: (1, 3, 4), 2: (1, 3, 3)}


@pytest.mark.parametrize(
    ("parts", "call"),
    [
        (4, lambda x: sp.map(x, Pair())),
        (4, lambda x: sp.sparsemap(x, Pair())),
        (4, lambda x: sp.hinge_loss(x, ITEMS, Pair())),
        (4, lambda x: sp.sparsemap_loss(x, ITEMS, Pair())),
        (4, lambda x: sp.lp_sparsemap(x, _items())),
        (3, lambda x: sp.map(x, TREES)),
        (3, lambda x: sp.sparsemap(x, TREES, solver="generic")),
        (3, lambda x: sp.sparsemap(x, TREES)),
        (3, lambda x: sp.kbest(x, TREES, 2)),
        (3, lambda x: sp.perceptron_loss(x, HEADS, TREES)),
        (3, lambda x: sp.crf_loss(x, HEADS, TREES)),
        (2, lambda x: sp.sample_matchings(x, sp.Matching())),
    ],
)
def test_no_sum_may_overflow(parts: int, call: Callable[[Tensor], Any]) -> None:
    scores = torch.zeros(SHAPES[parts], dtype=torch.float64)
    scores.view(-1)[0] = 1e199
    call(scores)
    scores.view(-1)[0] = 1e308
    with pytest.raises(ValueError, match=r"scores\[0, 0(, 0)?\] / temperature is (1e\+308|beyond)"):
        call(scores)


@pytest.mark.parametrize(
    "call",
    [
        lambda temperature: sp.sparsemap(
            GOOD - 1, TREES, temperature=temperature, solver="generic"
        ),
        lambda temperature: sp.sparsemap(GOOD[:, 0] - 1, Pair(), temperature=temperature),
        lambda temperature: sp.lp_sparsemap(GOOD[:, 0] - 1, _items(), temperature=temperature),
        lambda temperature: sp.sample_matchings(GOOD - 1, sp.Matching(), temperature=temperature),
    ],
)
def test_no_temperature_may_forbid(call: Callable[[float | Tensor], Any]) -> None:
    """-1 divided by it would be -inf, which marks a forbidden part."""
    for temperature in (1e-310, torch.tensor([1.0, 1e-310], dtype=torch.float64)):
        with pytest.raises(
            ValueError, match=r"scores\[[01], 0(, 0)?\] / temperature is (-inf|-1e\+300)"
        ):
            call(temperature)


def test_no_margin_may_overflow() -> None:
    for loss in (sp.hinge_loss, sp.sparsemap_loss):
        with pytest.raises(ValueError, match=r"margin must be at most 1e\+200, got 1e\+308"):
            loss(GOOD[:1], HEADS, TREES, margin=1e308)


@pytest.mark.parametrize(
    ("change", "message"),
    [(Tensor.to_sparse, "dense tensor, got layout"), (lambda x: x.to("meta"), "the meta device")],
)
def test_tensors_without_values(change: Callable[[Tensor], Tensor], message: str) -> None:
    gold = torch.zeros(2, 3, dtype=torch.int64)
    for call in (sp.sparsemap, sp.map, sp.marginals):
        with pytest.raises(ValueError, match=f"scores: .*{message}"):
            call(change(GOOD), TREES)
    with pytest.raises(ValueError, match=f"scores: .*{message}"):
        sp.lp_sparsemap(change(GOOD[:, 0]), _items())
    with pytest.raises(ValueError, match=f"gold: .*{message}"):
        sp.hinge_loss(GOOD, change(gold), TREES)
    with pytest.raises(ValueError, match=f"structures: .*{message}"):
        sp.marginals(GOOD, TREES).log_prob(change(gold))
    with pytest.raises(ValueError, match=f"log_prob: .*{message}"):
        sp.sparsemap(GOOD, TREES).log_prob(change(gold))


def test_bad_input_of_a_factor_graph_is_named() -> None:
    graph = forest()
    good = torch.zeros(2, len(graph))
    for bad in (torch.nan, torch.inf):
        scores = good.clone()
        scores[1, 2] = bad
        with pytest.raises(ValueError, match=r"instance 1, part \(2,\)"):
            sp.lp_sparsemap(scores, graph)
    with pytest.raises(ValueError, match=r"expected \(\*batch, 16\) for FactorGraph\(16 variables"):
        sp.lp_sparsemap(good[:, :4], graph)
    with pytest.raises(ValueError, match="floating"):
        sp.lp_sparsemap(good.long(), graph)
    with pytest.raises(ValueError, match="at least one variable"):
        sp.lp_sparsemap(torch.zeros(2, 0), sp.FactorGraph())
    with pytest.raises(ValueError, match="temperature must be positive"):
        sp.lp_sparsemap(good, graph, temperature=0.0)
    with pytest.raises(ValueError, match="max_iter must be at least 1"):
        sp.lp_sparsemap(good, graph, max_iter=0)
    scores = good.clone()
    scores[1, [0, 12, 13]] = -torch.inf
    with pytest.raises(ValueError, match=r"instance 1 has no assignment left in factor 1 \(Xor\)"):
        sp.lp_sparsemap(scores, graph)
    scores = good.clone()
    scores[1, :4] = -torch.inf
    with pytest.raises(ValueError, match=r"factor 0 \(DependencyTrees\).*instance 1|instance 1"):
        sp.lp_sparsemap(scores, graph)


def test_scores_of_the_whole_shape_in_any_batch() -> None:
    graph = sp.FactorGraph()
    x = graph.variables(1, 4)
    graph.add(sp.Xor(), x[0])
    scores = torch.randn(2, 3, 1, 4, dtype=torch.float64)
    post = sp.lp_sparsemap(scores, graph)
    assert post.marginals.shape == (2, 3, 1, 4)
    assert post.gap.shape == (2, 3)
    assert sp.lp_sparsemap(scores[0, :, 0], graph).gap.shape == (3,)
    assert sp.lp_sparsemap(scores[0, 0], graph).gap.shape == (1,)  # (B, V) comes first
    assert sp.lp_sparsemap(scores[0, 0, 0], graph).gap.shape == ()
    scores[1, 2, 0, 3] = torch.nan
    with pytest.raises(ValueError, match=r"scores\[1, 2, 0, 3\] is nan \(instance \(1, 2\)"):
        sp.lp_sparsemap(scores, graph)
