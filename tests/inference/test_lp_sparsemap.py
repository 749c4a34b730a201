"""LP-SparseMAP against SparseMAP, enumeration, Dykstra's projections, differences, a peer."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

import sparsewood as sp
from sparsewood.structures.logic import LogicFactor
from sparsewood.structures.oracle_error import OracleError
from sparsewood.testing import draw_scores, project
from tests.choice import Choice
from tests.full import some_quick
from tests.graphs import assignments, dykstra, forest, limited_trees, members, seats, two_trees

PEER = os.environ.get("SPARSEWOOD_PEER_PYTHON")
WORKER = Path(__file__).parents[2] / "benchmarks" / "peer_factor_graph.py"
SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(
    ("structure", "shape"),
    [
        (sp.DependencyTrees(), (5, 6)),
        (sp.DependencyTrees(projective=True, single_root=True), (4, 5)),
        (sp.Matching(), (4, 5)),
        (sp.LinearChain(), (4, 3, 4)),
        (sp.BinaryTrees(), (4, 4)),
        (sp.Subset(2), (5,)),
        (sp.Xor(), (5,)),
    ],
    ids=str,
)
def test_one_factor_is_sparsemap(structure: sp.Structure, shape: tuple[int, ...]) -> None:
    graph = sp.FactorGraph()
    number = graph.add(structure, graph.variables(*shape))
    scores = draw_scores("normal", 6, shape, seed=0).requires_grad_()
    plain = sp.sparsemap(scores, structure)
    post = sp.lp_sparsemap(scores, graph)
    if isinstance(structure, LogicFactor):
        torch.testing.assert_close(post.marginals, plain.marginals, rtol=0, atol=1e-9)
    else:
        assert torch.equal(post.marginals, plain.marginals)
        torch.testing.assert_close(post.factor(number).weights, plain.weights, rtol=0, atol=1e-12)
    assert (post.rounds == 1).all()
    assert (post.converged & post.tight).all()
    reads = structure.reads(scores)
    mask = structure.penalised(scores)
    slope = draw_scores("normal", 6, shape, seed=1) * (reads if mask is None else reads & mask)
    expected = torch.autograd.grad((plain.marginals * slope).sum(), scores)[0]
    found = torch.autograd.grad((post.marginals * slope).sum(), scores)[0]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-8)


@settings(deadline=None, max_examples=15)
@given(kind=st.sampled_from(("normal", "integers", "equal", "forbidden")), seed=SEEDS)
def test_forests_are_exact(kind: str, seed: int) -> None:
    graph = forest()
    everything = assignments(graph)
    scores = draw_scores(kind, 2, (len(graph),), seed)
    scores[:, :2] = scores[:, :2].nan_to_num(neginf=0.0)  # the first word keeps a head
    for theta in scores:
        usable = everything[(everything[:, theta == -torch.inf] == 0).all(-1)]
        if len(usable) == 0:
            continue
        post = sp.lp_sparsemap(theta[None], graph)
        nearest = project(theta.nan_to_num(neginf=0.0), usable)
        torch.testing.assert_close(post.marginals[0], nearest, rtol=0, atol=1e-6)
        assert post.tight.all()


@pytest.mark.parametrize(
    ("graph", "rounds"),
    [(limited_trees(5, 2), 200), (two_trees(5), 200), (seats(3, pairs=False), 300)],
    ids=["limited_trees", "two_trees", "seats"],
)
@pytest.mark.parametrize("scale", some_quick([0.5, 2.0]))
def test_loops_are_projected_onto_all_factors(
    graph: sp.FactorGraph, rounds: int, scale: float
) -> None:
    scores = scale * draw_scores("normal", 3, (len(graph),), seed=0)
    post = sp.lp_sparsemap(scores, graph)
    assert post.converged.all()
    assert (post.gap <= 1e-9).all()
    assert (post.violation <= 1e-9).all()
    torch.testing.assert_close(post.marginals, dykstra(scores, graph, rounds), rtol=0, atol=1e-6)


def test_pairs_satisfy_their_factors_and_the_certificate() -> None:
    graph = seats(4, pairs=True)
    scores = 2 * draw_scores("normal", 8, (len(graph),), seed=0)
    post = sp.lp_sparsemap(scores, graph)
    assert post.converged.all()
    for factor in graph.factors:
        table = post.marginals[:, factor.variables]
        # A point inside the polytope is its own projection.
        nearest = torch.stack([project(point, members(factor)) for point in table])
        torch.testing.assert_close(nearest, table, rtol=0, atol=1e-9)
    # No feasible point, such as an integral one, has an objective more than `gap` above.
    objective = _objective(scores, post.marginals, graph)
    corners = assignments(graph)
    for b in range(len(scores)):
        others = _objective(scores[b].expand(len(corners), -1), corners, graph)
        assert others.max() <= objective[b] + post.gap[b] + 1e-9


def _objective(theta: Tensor, mu: Tensor, graph: sp.FactorGraph) -> Tensor:
    return (theta * mu).sum(-1) - (mu * graph.penalised).square().sum(-1) / 2


def test_tight_marginals_are_those_of_all_assignments() -> None:
    graph = limited_trees(4, 1)
    everything = assignments(graph)
    scores = 3 * draw_scores("normal", 40, (len(graph),), seed=0)
    post = sp.lp_sparsemap(scores, graph)
    assert 5 < int(post.tight.sum()) < 40
    for theta, mu, tight in zip(scores, post.marginals, post.tight, strict=True):
        if tight:
            torch.testing.assert_close(mu, project(theta, everything), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "graph", [forest(), limited_trees(4, 1), seats(3, pairs=True)], ids=["forest", "trees", "seats"]
)
def test_derivatives(graph: sp.FactorGraph) -> None:
    scores = draw_scores("normal", 2, (len(graph),), seed=3).requires_grad_()
    temperature = torch.tensor([1.0, 0.8], dtype=torch.float64, requires_grad=True)

    def marginals(scores: Tensor, temperature: Tensor) -> Tensor:
        return sp.lp_sparsemap(scores, graph, temperature=temperature).marginals

    assert gradcheck(marginals, (scores, temperature), fast_mode=True)
    if graph.penalised.all():
        assert torch.autograd.gradgradcheck(marginals, (scores, temperature), fast_mode=True)


def test_posterior_of_a_factor() -> None:
    graph = limited_trees(5, 1)
    scores = draw_scores("normal", 4, (5, 6), seed=0).requires_grad_()
    post = sp.lp_sparsemap(scores, graph)
    trees = post.factor(0)
    parts = trees.structure.indicator(trees.structures, (5, 6))
    torch.testing.assert_close(trees.expect(parts), post.marginals, rtol=0, atol=1e-9)
    slope = draw_scores("normal", 4, (5, 6), seed=1)
    by_weights = torch.autograd.grad((trees.expect(parts) * slope).sum(), scores, retain_graph=True)
    by_marginals = torch.autograd.grad((post.marginals * slope).sum(), scores)
    torch.testing.assert_close(by_weights[0], by_marginals[0], rtol=0, atol=1e-8)
    with pytest.raises(ValueError, match=r"factor 1 \(Budget.* not logic"):
        post.factor(1)
    with pytest.raises(ValueError, match="factor: expected a number from 0 to 5, got 6"):
        post.factor(6)


def test_instances_do_not_see_each_other() -> None:
    graph = seats(4, pairs=True)
    scores = draw_scores("normal", 5, (len(graph),), seed=4)
    post = sp.lp_sparsemap(scores, graph)
    for b in range(5):
        alone = sp.lp_sparsemap(scores[b : b + 1], graph)
        torch.testing.assert_close(alone.marginals[0], post.marginals[b], rtol=0, atol=1e-9)
        assert alone.rounds[0] == post.rounds[b]


def test_a_variable_in_no_factor_is_clipped() -> None:
    graph = sp.FactorGraph()
    x = graph.variables(4)
    graph.add(sp.Xor(), x[:1])
    scores = torch.tensor([[0.0, -1.0, 0.25, 3.0]], dtype=torch.float64, requires_grad=True)
    post = sp.lp_sparsemap(scores, graph)
    assert post.marginals.tolist() == [[1.0, 0.0, 0.25, 1.0]]
    assert torch.autograd.grad(post.marginals.sum(), scores)[0].tolist() == [[0, 0, 1, 0]]


def test_dtype_shape_and_temperature() -> None:
    graph = limited_trees(4, 1)
    scores = draw_scores("normal", 2, (4, 5), seed=0)
    before = scores.clone()
    exact = sp.lp_sparsemap(scores, graph, temperature=0.5)
    assert exact.marginals.shape == (2, 4, 5)
    torch.testing.assert_close(exact.marginals, sp.lp_sparsemap(2 * scores, graph).marginals)
    flat = sp.lp_sparsemap(2 * scores.flatten(1), graph).marginals
    torch.testing.assert_close(flat, exact.marginals.flatten(1))
    single = scores.float().requires_grad_()
    post = sp.lp_sparsemap(single, graph)
    assert post.marginals.dtype == post.factor(0).weights.dtype == torch.float32
    post.marginals.square().sum().backward()
    assert single.grad is not None
    assert single.grad.dtype == torch.float32
    assert torch.equal(scores, before)


def test_scores_that_are_never_read() -> None:
    graph = two_trees(3)
    scores = draw_scores("normal", 2, (3, 4), seed=0)
    reads = sp.DependencyTrees().reads(scores)
    blind = scores.masked_fill(~reads, torch.nan).requires_grad_()
    post = sp.lp_sparsemap(blind, graph)
    assert torch.equal(post.marginals, sp.lp_sparsemap(scores, graph).marginals)
    post.marginals.square().sum().backward()
    assert blind.grad is not None
    assert (blind.grad[~reads] == 0).all()


def test_a_warm_start_is_shorter() -> None:
    graph = limited_trees(6, 1)
    scores = 3 * draw_scores("normal", 4, (len(graph),), seed=0)
    first = sp.lp_sparsemap(scores, graph)
    again = sp.lp_sparsemap(scores, graph, start=first)
    assert again.rounds.sum() < first.rounds.sum()
    torch.testing.assert_close(again.marginals, first.marginals, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="start: expected the result for a batch of shape"):
        sp.lp_sparsemap(scores[:1], graph, start=first)


def test_too_few_rounds_and_contradictions_show() -> None:
    graph = seats(4, pairs=False)
    scores = 3 * draw_scores("normal", 4, (len(graph),), seed=0)
    assert not sp.lp_sparsemap(scores, graph, max_iter=1).converged.all()
    graph = sp.FactorGraph()
    x = graph.variables(2)
    graph.add(sp.Xor(), x)
    graph.add(sp.Budget(0), x)
    post = sp.lp_sparsemap(torch.zeros(1, 2), graph, max_iter=50)
    assert not post.converged.any()
    assert not post.tight.any()
    assert post.marginals.isfinite().all()


def test_no_instances_and_no_factors() -> None:
    graph = sp.FactorGraph()
    graph.variables(3)
    assert sp.lp_sparsemap(torch.full((1, 3), 0.5), graph).marginals.tolist() == [[0.5] * 3]
    graph = limited_trees(3, 1)
    empty = sp.lp_sparsemap(torch.zeros(0, 3, 4, requires_grad=True), graph)
    assert empty.marginals.shape == (0, 3, 4)
    assert len(empty) == 0


class Fragile(Choice):
    """A choice whose oracle fails on scores above 5."""

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        high = (scores > 5).any(-1)
        if high.any():
            raise OracleError("too high", int(high.nonzero()[0]))
        return super().argmax(scores)


def test_errors_inside_an_oracle_name_the_instance() -> None:
    """Two factors of the same structure are solved side by side, instance by instance."""
    graph = sp.FactorGraph()
    x, structure = graph.variables(2, 3), Fragile()
    graph.add(structure, x[0])
    graph.add(structure, x[1])
    scores = torch.zeros(4, 2, 3)
    post = sp.lp_sparsemap(scores, graph)
    torch.testing.assert_close(post.marginals, torch.full_like(scores, 1 / 3))
    scores[2, 1, 0] = 6.0
    with pytest.raises(OracleError, match="instance 2: too high"):
        sp.lp_sparsemap(scores, graph)


@pytest.mark.skipif(PEER is None, reason="SPARSEWOOD_PEER_PYTHON names no Python with lp-sparsemap")
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_same_as_the_peer(pairs: bool, scale: float, tmp_path: Path) -> None:
    graph = seats(4, pairs)
    scores = scale * draw_scores("normal", 10, (len(graph),), seed=0)
    factors = []
    for factor in graph.factors:
        structure = factor.structure
        kind = "pair" if isinstance(structure, sp.Pairwise) else type(structure).__name__.lower()
        options = {"negated": getattr(structure, "negated", ())}
        if isinstance(structure, sp.Budget):
            options["k"] = structure.k
        factors.append((kind, factor.variables.tolist(), options))
    source, target = tmp_path / "in.npz", tmp_path / "out.npz"
    text = json.dumps(factors)
    np.savez(source, scores=scores.numpy(), graph=text, max_iter=20000, tol=1e-9)
    assert PEER is not None
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run([PEER, str(WORKER), str(source), str(target)], check=True, env=environment)
    with np.load(target) as answer:
        theirs = torch.from_numpy(answer["marginals"])
    # The peer's residuals, not its marginals, are within 1e-9.
    ours = sp.lp_sparsemap(scores, graph).marginals
    torch.testing.assert_close(ours[:, :16], theirs[:, :16], rtol=0, atol=2e-5)
