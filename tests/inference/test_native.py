"""The custom ops: PyTorch's checks, exact derivatives, caps, and determinism."""

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.inference._derivatives import jacobian_op
from sparsewood.inference.native import _sparsemap
from sparsewood.testing import draw_scores
from tests.trees import family

TREES = sp.DependencyTrees()
LENGTHS = torch.tensor([5, 4, 1])
TEMPERATURE = torch.tensor([0.7, 1.0, 1.9], dtype=torch.float64)
# Event, lengths, full size, family, options, tol, max_active, max_iter, batch.
OPTIONS: tuple[Any, ...] = ([5], LENGTHS[:, None], [5], "trees", [0, 0], 1e-9, 0, 0, 0, False, [3])


def op_scores(dtype: torch.dtype = torch.float64, padding: float = 0.0) -> Tensor:
    """Scores (3, 5, 6) for LENGTHS, with gradient; `padding` at parts that must not be read."""
    scores = draw_scores("normal", 3, (5, 6), seed=0)
    scores = scores.masked_fill(~TREES.reads(scores, LENGTHS), padding)
    return scores.to(dtype).requires_grad_()


def read_scores(trees: sp.DependencyTrees, scores: Tensor) -> Tensor:
    return scores.masked_fill(~trees.reads(scores), 0.0)


# PyTorch's checks of an op.


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("learned", [True, False])
def test_opcheck_of_the_solver(dtype: torch.dtype, learned: bool) -> None:
    temperature = TEMPERATURE.clone().requires_grad_(learned)
    torch.library.opcheck(_sparsemap, (op_scores(dtype), temperature, *OPTIONS))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_opcheck_of_the_jacobian(dtype: torch.dtype) -> None:
    weights, marginals, _, sizes, _, _, factor, parts, *_ = _sparsemap(
        op_scores(dtype), TEMPERATURE, *OPTIONS
    )
    on_weights = torch.linspace(-1, 1, len(weights), dtype=dtype, requires_grad=True)
    on_parts = draw_scores("normal", 3, (30,), seed=1).to(dtype).requires_grad_()
    assert marginals.dtype == weights.dtype == dtype
    torch.library.opcheck(jacobian_op, (parts, sizes, factor, on_weights, on_parts))


@family
@pytest.mark.parametrize("name", ["weights", "marginals"])
def test_derivatives_with_lengths_and_temperature(trees: sp.DependencyTrees, name: str) -> None:
    def infer(scores: Tensor, temperature: Tensor) -> Tensor:
        post = sp.sparsemap(
            scores, trees, lengths=LENGTHS, temperature=temperature, solver="native"
        )
        return getattr(post, name)

    point = op_scores(), TEMPERATURE.clone().requires_grad_()
    assert torch.autograd.gradcheck(infer, point)
    assert torch.autograd.gradgradcheck(infer, point)


def loss_of(scores: Tensor, temperature: Tensor) -> Tensor:
    weights, marginals, *_ = _sparsemap(scores, temperature, *OPTIONS)
    return weights.square().sum() + marginals.pow(3).sum()


def public_loss_of(scores: Tensor, temperature: Tensor) -> Tensor:
    post = sp.sparsemap(scores, TREES, temperature=temperature)
    return post.weights.square().sum() + post.marginals.pow(3).sum()


def marginal_loss_of(scores: Tensor, temperature: Tensor) -> Tensor:
    return sp.sparsemap(scores, TREES, temperature=temperature).marginals.pow(3).sum()


def weight_loss_of(scores: Tensor, temperature: Tensor) -> Tensor:
    return sp.sparsemap(scores, TREES, temperature=temperature).weights.square().sum()


@pytest.mark.parametrize("loss", [loss_of, public_loss_of, marginal_loss_of, weight_loss_of])
def test_compiles_to_one_graph(loss) -> None:
    """Forward and backward, one graph for supports of any size."""
    torch._dynamo.reset()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    temperature = TEMPERATURE.clone().requires_grad_()
    for divisor in (0.01, 1.0, 3.0):
        scores = (op_scores().detach() / divisor).requires_grad_()
        found, expected = compiled(scores, temperature), loss(scores, temperature)
        assert torch.equal(found, expected)
        ours = torch.autograd.grad(found, (scores, temperature))
        theirs = torch.autograd.grad(expected, (scores, temperature))
        assert torch.equal(ours[0], theirs[0])
        torch.testing.assert_close(ours[1], theirs[1], rtol=1e-14, atol=1e-14)


def test_a_compiled_graph_still_checks_the_temperature() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(public_loss_of, fullgraph=True, backend="aot_eager")
    with pytest.raises(ValueError, match=r"temperature\[1\]"):
        compiled(op_scores(), torch.tensor([1.0, 0.0, 1.0]))


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str
)
def test_every_dtype_is_solved_in_float64(dtype: torch.dtype) -> None:
    scores = draw_scores("normal", 4, (8, 9), seed=0).to(dtype).requires_grad_()
    wide = scores.detach().double().requires_grad_()
    post, exact = sp.sparsemap(scores, TREES), sp.sparsemap(wide, TREES)
    assert torch.equal(post.structures, exact.structures)
    assert torch.equal(post.weights, exact.weights.to(dtype))
    assert torch.equal(post.marginals, exact.marginals.to(dtype))
    direction = draw_scores("normal", 4, (8, 9), seed=1).to(dtype)
    (found,) = torch.autograd.grad((post.marginals * direction).sum(), scores)
    (expected,) = torch.autograd.grad((exact.marginals * direction.double()).sum(), wide)
    assert torch.equal(found, expected.to(dtype))


def test_autocast_trains_a_scorer() -> None:
    """Scores arrive in bfloat16; the parameters get gradients in their own dtype."""
    torch.manual_seed(0)
    scorer = torch.nn.Linear(4, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = scorer(torch.randn(3, 5, 4))
        post = sp.sparsemap(scores, TREES, lengths=LENGTHS)
    assert post.weights.dtype == scores.dtype == torch.bfloat16
    post.marginals.float().square().sum().backward()
    assert scorer.weight.grad is not None
    assert scorer.weight.grad.dtype == torch.float32
    assert scorer.weight.grad.isfinite().all()
    assert scorer.weight.grad.any()


def test_two_backward_passes_agree() -> None:
    scores, temperature = op_scores(padding=torch.nan), TEMPERATURE.clone().requires_grad_()
    loss = loss_of(scores, temperature)
    first = torch.autograd.grad(loss, (scores, temperature), retain_graph=True)
    second = torch.autograd.grad(loss, (scores, temperature))
    assert all(gradient.isfinite().all() for gradient in first)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


# Derivatives on sentences of real length.


@family
@pytest.mark.parametrize(("n", "scale", "batch"), [(20, 1.0, 6), (20, 0.3, 6), (60, 1.0, 8)])
def test_products_with_the_jacobian(
    trees: sp.DependencyTrees, n: int, scale: float, batch: int
) -> None:
    """Vector-Jacobian products against central differences, one direction for each instance.

    The step is so small that most supports do not change; if one does, the weights have
    no derivative to compare with. The remaining precision of the weights determines the tolerance.
    """
    step = 5e-10
    scores = (scale * draw_scores("normal", batch, (n, n + 1), seed=n)).requires_grad_()
    direction = draw_scores("normal", batch, (n, n + 1), seed=n + 1)
    post = sp.sparsemap(scores, trees)
    ahead, behind = (sp.sparsemap(scores.detach() + s * direction, trees) for s in (step, -step))
    on_marginals = draw_scores("normal", batch, (n, n + 1), seed=n + 2)
    (gradient,) = torch.autograd.grad(
        (post.marginals * on_marginals).sum(), scores, retain_graph=True
    )
    slope = ((ahead.marginals - behind.marginals) * on_marginals).flatten(1).sum(1) / (2 * step)
    found = (gradient * direction).flatten(1).sum(1)
    torch.testing.assert_close(found, slope, rtol=1e-4, atol=1e-4)

    on_weights = draw_scores("normal", 1, post.weights.shape, seed=n + 3)[0]
    (gradient,) = torch.autograd.grad((post.weights * on_weights).sum(), scores)
    found = (gradient * direction).flatten(1).sum(1)
    compared = 0
    for i, (here, a, b) in enumerate(zip(post, ahead, behind, strict=True)):
        if not all(torch.equal(here.structures, other.structures) for other in (a, b)):
            continue
        compared += 1
        slope = ((a.weights - b.weights) * on_weights[post.instance == i]).sum() / (2 * step)
        torch.testing.assert_close(found[i], slope, rtol=1e-3, atol=1e-3)
    assert compared >= 2


# The caps.


def objective(trees: sp.DependencyTrees, scores: Tensor, post: sp.SparsePosterior) -> Tensor:
    u = post.marginals
    return (read_scores(trees, scores) * u - u.square() / 2).flatten(1).sum(1)


@family
def test_max_active_keeps_the_best_set_reached(trees: sp.DependencyTrees) -> None:
    n, tol = 12, 1e-9
    scores = draw_scores("normal", 8, (n, n + 1), seed=4)
    full = sp.sparsemap(scores, trees)
    before = torch.full((8,), -torch.inf, dtype=torch.float64)
    for cap in (1, 2, 3, 5, 7, 9, 11, 12, 14, 17, 24, 200):
        post = sp.sparsemap(scores, trees, max_active=cap, tol=tol)
        assert post.sizes.max() <= cap
        torch.testing.assert_close(
            post.expect(torch.ones_like(post.weights)), torch.ones(8).double()
        )
        assert torch.equal(post.converged, post.gap <= tol)
        assert (
            post.gap >= objective(trees, scores, full) - objective(trees, scores, post) - tol
        ).all()
        # Optimal on the set: all its trees have equal scores on theta - u.
        parts = trees.indicator(post.structures)
        slope = (read_scores(trees, scores) - post.marginals)[post.instance]
        potential = (slope * parts).flatten(1).sum(1)
        mean = post.expect(potential)[post.instance]
        torch.testing.assert_close(potential, mean, rtol=0, atol=1e-10)
        now = objective(trees, scores, post)
        assert (now >= before - 1e-12).all()
        before = now


# The same input gives the same bits.


def solved(scores: Tensor, lengths: Tensor) -> list[tuple[Tensor, ...]]:
    """Structures, weights, marginals and gradient of each instance, cut to its length."""
    leaf = scores.clone().requires_grad_()
    post = sp.sparsemap(leaf, TREES, lengths=lengths)
    (gradient,) = torch.autograd.grad(post.marginals.square().sum() + post.entropy().sum(), leaf)
    return [
        (
            one.structures[:, :n],
            one.weights.detach(),
            one.marginals[0, :n, : n + 1].detach(),
            gradient[i, :n, : n + 1],
        )
        for i, (one, n) in enumerate(zip(post, lengths.tolist(), strict=True))
    ]


def test_bits_do_not_depend_on_batch_padding_or_threads() -> None:
    lengths = torch.tensor([20, 13, 7, 20, 2])
    scores = draw_scores("normal", 5, (20, 21), seed=7)
    padded = torch.full((5, 26, 27), torch.nan, dtype=torch.float64)
    padded[:, :20, :21] = scores.masked_fill(~TREES.reads(scores, lengths), torch.nan)
    expected = [
        solved(scores[i : i + 1, :n, : n + 1].contiguous(), lengths[i : i + 1])[0]
        for i, n in enumerate(lengths.tolist())
    ]
    order = [3, 1, 4, 0, 2]
    try:
        for threads in (1, 2, 5):
            sp.set_num_threads(threads)
            found = solved(padded[order], lengths[order])
            for i, one in zip(order, found, strict=True):
                assert all(torch.equal(a, b) for a, b in zip(one, expected[i], strict=True))
    finally:
        sp.set_num_threads(None)


FINGERPRINT = """
import hashlib
import sparsewood as sp
from sparsewood.testing import draw_scores
post = sp.sparsemap(draw_scores("normal", 8, (20, 21), seed=8), sp.DependencyTrees())
bits = post.structures.numpy().tobytes() + post.weights.numpy().tobytes()
found = hashlib.sha256(bits).hexdigest()
"""


@pytest.mark.full
def test_bits_do_not_depend_on_the_process() -> None:
    here: dict[str, str] = {}
    exec(FINGERPRINT, here)
    there = subprocess.run(
        [sys.executable, "-c", FINGERPRINT + "print(found)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout.strip() == here["found"]
