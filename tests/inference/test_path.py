"""At most k structures by a lower temperature: the temperature and its derivatives."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.func import grad, jacfwd, jacrev

import sparsewood as sp
from sparsewood.testing import draw_scores
from tests.brute import SMALL, Small
from tests.families import FAMILIES, batch_of
from tests.seats import Seats

TREES = sp.DependencyTrees()
CAPPED = int(sp.Status.CAPPED)
solvers = pytest.mark.parametrize("solver", ["native", "generic"])
small = pytest.mark.parametrize("problem", SMALL.values(), ids=SMALL)


def unique(structure: sp.Structure, scores: Tensor) -> Tensor:
    """(*parts) bool, the parts whose marginals are unique: those with a penalty."""
    counted = structure.penalised(scores)
    return torch.ones(scores.shape[1:], dtype=torch.bool) if counted is None else counted


@solvers
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("name", FAMILIES)
def test_is_sparsemap_at_the_temperature_it_names(name: str, k: int, solver) -> None:
    """Includes forbidden parts, padding, ties, equal, small and large scores."""
    structure = FAMILIES[name].structure
    scores, lengths = batch_of(FAMILIES[name])
    options = {"lengths": lengths, "solver": solver}
    post = sp.sparsemap(scores, structure, max_support=k, **options)
    assert (post.sizes <= k).all()
    assert (post.weights > 0).all()
    assert (post.temperature <= 1).all()
    capped = post.status == CAPPED
    assert (post.converged | capped).all()
    assert not capped[[0, 1, 2, 3, 6, 7]].any()  # the others have ties
    assert (post.temperature[capped] == 1).all()
    plain = sp.sparsemap(scores, structure, temperature=post.temperature, **options)
    kept = unique(structure, scores) & ~capped.reshape(-1, *[1] * (scores.ndim - 1))
    difference = torch.where(kept, post.marginals - plain.marginals, 0)
    assert difference.abs().max() < 1e-9


@solvers
def test_of_a_simplex_it_is_known(solver) -> None:
    """Item k + 1 of sparsemax enters at the sum of the score differences to the first k."""
    scores = draw_scores("normal", 5, (8,), seed=0)
    ordered = scores.sort(-1, descending=True).values
    for k in range(1, 8):
        expected = (ordered[:, :k] - ordered[:, k : k + 1]).sum(-1)
        post = sp.sparsemap(scores, sp.Simplex(), temperature=100.0, max_support=k, solver=solver)
        torch.testing.assert_close(post.temperature, expected, rtol=1e-12, atol=0)
        assert (post.sizes == k).all()


@solvers
@small
def test_one_structure_is_the_best_one(problem: Small, solver) -> None:
    """Until another structure ties, which depends on the parts that it does not share."""
    scores = problem.scores(5, seed=1)
    theta = torch.where(problem.allowed(scores), scores, 0).flatten(1)
    usable = (problem.columns @ (~problem.allowed(scores)).double().flatten(1).T == 0).T
    counted = problem.columns * unique(problem.structure, scores).flatten()
    post = sp.sparsemap(scores, problem.structure, temperature=100.0, max_support=1, solver=solver)
    for b, total in enumerate((theta @ problem.columns.T).masked_fill(~usable, -torch.inf)):
        best = int(total.argmax())
        rest = torch.arange(len(total)) != best
        unshared = counted[best].sum() - counted[rest] @ counted[best]
        first = ((total[best] - total[rest]) / unshared)[unshared > 0].min()
        assert float(post.temperature[b]) == pytest.approx(float(first), rel=1e-12)
        assert torch.equal(post.marginals[b].flatten(), problem.columns[best])


@solvers
@small
def test_a_little_above_they_do_not_suffice(problem: Small, solver) -> None:
    """At the optimum over the structures kept, another structure has an advantage."""
    scores = draw_scores("normal", 6, problem.shape, seed=2)
    for k in (1, 2, 3):
        post = sp.sparsemap(
            scores, problem.structure, temperature=100.0, max_support=k, solver=solver
        )
        plain = sp.sparsemap(scores, problem.structure, temperature=post.temperature * 1.001)
        short = post.temperature < 100
        assert short.any()
        for b in short.nonzero()[:, 0].tolist():
            kept = {tuple(h.flatten().tolist()) for h in post[b].structures}
            above = {tuple(h.flatten().tolist()) for h in plain[b].structures}
            assert above - kept


@solvers
@settings(deadline=None, max_examples=25)
@given(
    n=st.integers(1, 6),
    seed=st.integers(0, 2**31),
    k=st.integers(1, 6),
    kind=st.sampled_from(["normal", "round", "sign"]),
)
def test_ties_and_all(n: int, seed: int, k: int, kind: str, solver) -> None:
    scores = 2 * draw_scores("normal", 2, (n, n + 1), seed)
    scores = {"normal": scores, "round": scores.round(), "sign": scores.sign()}[kind]
    post = sp.sparsemap(scores, TREES, max_support=k, solver=solver)
    assert (post.sizes <= k).all()
    solved = post.converged
    assert (post.status[~solved] == CAPPED).all()
    assert solved.all() or kind != "normal"
    plain = sp.sparsemap(scores, TREES, temperature=post.temperature)
    difference = (post.marginals - plain.marginals)[solved]
    assert solved.sum() == 0 or difference.abs().max() < 1e-9


@solvers
@pytest.mark.parametrize("scale", [1e-20, 1e12])
def test_scores_and_temperature_have_no_unit(scale: float, solver) -> None:
    scores = draw_scores("normal", 3, (5, 6), seed=0)
    usual = sp.sparsemap(scores, TREES, temperature=9.0, max_support=3, solver=solver)
    given = {"temperature": max(1.0, 9 * scale), "max_support": 3, "solver": solver}
    post = sp.sparsemap(scale * scores, TREES, **given)
    assert post.converged.all()
    torch.testing.assert_close(post.temperature / scale, usual.temperature)
    torch.testing.assert_close(post.marginals, usual.marginals)


@solvers
@pytest.mark.parametrize("scale", [1e-300, 1e150])
def test_scores_at_the_end_of_numbers(scale: float, solver) -> None:
    scores = scale * draw_scores("normal", 3, (5, 6), seed=0)
    post = sp.sparsemap(scores, TREES, max_support=3, solver=solver)
    assert post.weights.isfinite().all()
    assert (post.sizes <= 3).all()
    assert (post.converged | (scale < 1)).all()


@solvers
def test_parts_without_a_penalty_that_tie(solver) -> None:
    chain, generator = sp.LinearChain(), torch.Generator().manual_seed(125)
    scores = torch.randn(4, 5, 3, 4, dtype=torch.float64, generator=generator).round()
    post = sp.sparsemap(scores, chain, temperature=30.0, max_support=7, solver=solver)
    assert post.converged.all()
    plain = sp.sparsemap(scores, chain, temperature=post.temperature)
    kept = unique(chain, scores)
    assert ((post.marginals - plain.marginals) * kept).abs().max() < 1e-9


@solvers
def test_more_than_needed_is_the_plain_answer(solver) -> None:
    scores, temperature = (
        draw_scores("normal", 4, (7, 8), seed=0),
        torch.tensor([0.3, 1.0, 2.0, 0.01]),
    )
    plain = sp.sparsemap(scores, TREES, temperature=temperature)
    post = sp.sparsemap(scores, TREES, temperature=temperature, max_support=1000, solver=solver)
    assert torch.equal(post.temperature, temperature.double())
    assert post.converged.all()
    torch.testing.assert_close(post.marginals, plain.marginals, rtol=0, atol=1e-12)


@solvers
def test_where_too_many_score_best_no_temperature_suffices(solver) -> None:
    """The result is then that of `max_active`, with its status."""
    scores = torch.zeros(1, 5, 6, dtype=torch.float64)
    post = sp.sparsemap(scores, TREES, temperature=0.5, max_support=2, solver=solver)
    capped = sp.sparsemap(scores, TREES, temperature=0.5, max_active=2, solver=solver)
    assert post.status.tolist() == [CAPPED]
    assert post.temperature.tolist() == [0.5]
    assert torch.equal(post.structures, capped.structures)
    assert torch.equal(post.weights, capped.weights)
    enough = sp.sparsemap(scores, TREES, max_support=100, solver=solver)
    assert enough.converged.all()
    torch.testing.assert_close(enough.marginals, sp.sparsemap(scores, TREES).marginals)


def test_any_structure() -> None:
    scores = draw_scores("normal", 3, (7,), seed=0).requires_grad_()
    post = sp.sparsemap(scores, Seats(), temperature=10.0, max_support=3)
    assert post.converged.all()
    assert (post.sizes <= 3).all()
    plain = sp.sparsemap(scores, Seats(), temperature=post.temperature)
    torch.testing.assert_close(post.marginals, plain.marginals, rtol=0, atol=1e-9)
    assert gradcheck(lambda x: _at_most(x, Seats(), 10.0, 3, None), scores)


@solvers
def test_batch_shapes_and_dtypes(solver) -> None:
    scores = draw_scores("normal", 6, (5, 6), seed=0).float().reshape(2, 3, 5, 6)
    options = {"max_support": 3, "temperature_gradient": "scores", "solver": solver}
    post = sp.sparsemap(scores.requires_grad_(), TREES, **options)
    assert post.temperature.shape == (2, 3)
    assert post.temperature.dtype == torch.float64
    assert post.marginals.dtype == torch.float32
    post.marginals.square().sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    alone = sp.sparsemap(scores[1, 2], TREES, **options)
    assert alone.temperature.shape == ()
    assert torch.equal(alone.temperature, post.temperature[1, 2])
    none = sp.sparsemap(scores[:0], TREES, **options)
    assert none.temperature.shape == (0, 3)
    assert none.marginals.shape == (0, 3, 5, 6)


def _at_most(
    scores: Tensor,
    structure: sp.Structure,
    temperature: float | Tensor,
    k: int,
    solver,
    way: Any = "scores",
) -> tuple[Tensor, Tensor, Tensor]:
    post = sp.sparsemap(
        scores,
        structure,
        temperature=temperature,
        max_support=k,
        temperature_gradient=way,
        solver=solver,
    )
    return post.marginals * unique(structure, scores), post.weights, post.temperature


@solvers
@small
def test_gradient_of_the_temperature_too(problem: Small, solver) -> None:
    scores = draw_scores("normal", 2, problem.shape, seed=3)
    scores = torch.where(problem.allowed(scores), scores, 0).requires_grad_()
    temperature = torch.tensor([0.03, 30.0], dtype=torch.float64, requires_grad=True)

    def call(scores: Tensor, temperature: Tensor) -> tuple[Tensor, ...]:
        return _at_most(scores, problem.structure, temperature, 2, solver)

    assert (call(scores, temperature)[2] < temperature).tolist() == [False, True]
    slow = solver == "generic"
    assert gradcheck(call, (scores, temperature), check_forward_ad=True, fast_mode=slow)
    assert gradgradcheck(lambda *inputs: call(*inputs)[0], (scores, temperature), fast_mode=True)


@solvers
def test_gradient_at_a_constant_temperature(solver) -> None:
    scores = draw_scores("normal", 3, (5, 6), seed=3).requires_grad_()
    temperature = torch.tensor([1.0, 0.01, 1.0], dtype=torch.float64, requires_grad=True)
    marginals, _, found = _at_most(scores, TREES, temperature, 3, solver, "constant")
    plain = sp.sparsemap(scores, TREES, temperature=found.detach(), solver=solver)
    assert not found.requires_grad
    assert torch.equal(found == temperature, torch.tensor([False, True, False]))
    along = draw_scores("normal", 3, (5, 6), seed=4)
    ours, on_temperature = torch.autograd.grad((along * marginals).sum(), (scores, temperature))
    (theirs,) = torch.autograd.grad((along * plain.marginals).sum(), scores)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-9)
    assert (on_temperature[[0, 2]] == 0).all()


@solvers
@pytest.mark.parametrize("way", ["constant", "scores"])
def test_transforms(way, solver) -> None:
    scores = draw_scores("normal", 2, (4, 5), seed=3)

    def call(x: Tensor) -> Tensor:
        return _at_most(x, TREES, 1.0, 2, solver, way)[0]

    leaf = scores.clone().requires_grad_()
    along = draw_scores("normal", 2, (4, 5), seed=4)
    (expected,) = torch.autograd.grad((along * call(leaf)).sum(), leaf)
    torch.testing.assert_close(grad(lambda x: (along * call(x)).sum())(scores), expected)
    torch.testing.assert_close(jacrev(call)(scores), jacfwd(call)(scores))


def test_in_a_compiled_graph() -> None:
    scores = draw_scores("normal", 2, (4, 5), seed=3).requires_grad_()
    along = draw_scores("normal", 2, (4, 5), seed=4)

    def loss(scores: Tensor, temperature: Tensor) -> Tensor:
        return (
            along * sp.sparsemap(scores, TREES, temperature=temperature, max_support=2).marginals
        ).sum()

    temperature = torch.tensor([0.01, 1.0], dtype=torch.float64, requires_grad=True)
    expected = torch.autograd.grad(loss(scores, temperature), (scores, temperature))
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    found = torch.autograd.grad(compiled(scores, temperature), (scores, temperature))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("cap", ["max_active", "max_iter"])
def test_goes_with_no_cap_that_gives_the_certificate_up(cap: str) -> None:
    caps: dict[str, Any] = {cap: 3}
    with pytest.raises(ValueError, match=f"max_support=2 with {cap}=3"):
        sp.sparsemap(torch.zeros(1, 2, 3), TREES, max_support=2, **caps)


@solvers
def test_canonical_weights_stay_within_the_cap(solver) -> None:
    scores = draw_scores("normal", 8, (6, 7), seed=0)
    post = sp.sparsemap(scores, TREES, max_support=3, weights="canonical", solver=solver)
    assert post.converged.all()
    assert (post.sizes <= 3).all()
    assert post.canonical.any()


def test_what_rounding_left_takes_no_weight_from_the_others() -> None:
    """At the end of the path a structure has a weight of 5e-14, which is not kept."""
    scores = torch.tensor([[4.5462773496387e-14, -3.55995810634402e-13]], dtype=torch.float64)
    post = sp.sparsemap(scores, sp.Or(negated=(1,)), max_support=3, temperature=0.835)
    assert float(post.weights.sum()) == pytest.approx(1.0, abs=1e-15)
