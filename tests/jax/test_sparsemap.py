"""SparseMAP on jax arrays, against the same calls on tensors."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax.test_util import check_grads
from numpy.testing import assert_allclose, assert_array_equal
from torch import Tensor

import sparsewood as sp
import sparsewood.jax as spj
from sparsewood.testing import draw_scores
from tests.families import FAMILIES, batch_of
from tests.full import some_quick
from tests.seats import Seats

K = 6
TREES = sp.DependencyTrees()
wraps = pytest.mark.parametrize("wrap", some_quick([jax.jit, lambda f: f]), ids=["jit", "eager"])
names = pytest.mark.parametrize("name", some_quick(FAMILIES))


def draw(*shape: int, seed: int = 0) -> Tensor:
    return draw_scores("normal", shape[0], shape[1:], seed=seed)


def to_jax(table: Tensor | None) -> Any:
    return None if table is None else jnp.asarray(table.detach().numpy())


def padded(post: sp.SparsePosterior, table: Tensor, k: int = K) -> Tensor:
    """A table of structures (T, ...) as (B, k, ...), filled up with the first of the instance."""
    sizes = post.sizes.flatten()
    rank = torch.arange(k)
    starts = (sizes.cumsum(0) - sizes)[:, None]
    return table[starts + torch.where(rank < sizes[:, None], rank, 0)]


def weights_of(post: sp.SparsePosterior, k: int = K) -> Tensor:
    return padded(post, post.weights, k) * (torch.arange(k) < post.sizes.flatten()[:, None])


def close(found: Any, expected: Tensor, tolerance: float = 1e-12) -> None:
    scale = max(1.0, float(expected.detach().abs().max())) if expected.numel() else 1.0
    assert_allclose(np.asarray(found), expected.detach().numpy(), rtol=0, atol=tolerance * scale)


@names
@pytest.mark.parametrize("cap", some_quick(["max_active", "max_support"]))
@wraps
def test_as_on_tensors(wrap: Any, name: str, cap: str) -> None:
    family = FAMILIES[name]
    scores, lengths = batch_of(family)
    leaf = scores.clone().requires_grad_()
    temperature = torch.linspace(0.5, 2, len(scores), dtype=torch.float64).requires_grad_()
    options: Any = {cap: K}
    post = sp.sparsemap(leaf, family.structure, lengths=lengths, temperature=temperature, **options)
    generator = torch.Generator().manual_seed(1)
    on_weights = torch.randn(len(scores), K, dtype=torch.float64, generator=generator)
    on_marginals = torch.randn(scores.shape, dtype=torch.float64, generator=generator)
    total = (on_weights * weights_of(post)).sum() + (on_marginals * post.marginals).sum()
    expected = torch.autograd.grad(total, (leaf, temperature))
    # The gradient of the temperature sums over scores.
    largest = scores.where(scores.isfinite(), 0).flatten(1).abs().amax(1).clamp(min=1)

    def call(scores: Any, temperature: Any) -> tuple[Any, spj.SparsePosterior]:
        post = spj.sparsemap(
            scores, family.structure, lengths=to_jax(lengths), temperature=temperature, **options
        )
        value = (to_jax(on_weights) * post.weights).sum()
        return value + (to_jax(on_marginals) * post.marginals).sum(), post

    slope = jax.grad(call, argnums=(0, 1), has_aux=True)
    found, answer = wrap(slope)(to_jax(scores), to_jax(temperature))
    assert_array_equal(answer.structures, padded(post, post.structures))
    assert_array_equal(answer.weights, weights_of(post).detach())
    assert_array_equal(answer.marginals, post.marginals.detach())
    for field in ("sizes", "gap", "status", "calls", "canonical", "temperature"):
        assert_array_equal(getattr(answer, field), getattr(post, field).detach())
    assert_array_equal(answer.converged, post.converged)
    close(found[0], expected[0])
    close(found[1] / to_jax(largest), expected[1] / largest)


@pytest.mark.full
@pytest.mark.parametrize("structure", [TREES, sp.LinearChain(), sp.Matching()], ids=str)
def test_derivatives_of_both_modes_and_orders(structure: sp.Structure) -> None:
    """In the temperature, weights have derivatives of any order."""
    shape = (2, 3, 2, 3) if structure == sp.LinearChain() else (2, 3, 4)
    scores = to_jax(draw(*shape))

    def call(scores: Any, temperature: Any) -> Any:
        post = spj.sparsemap(scores, structure, temperature=temperature, max_active=8)
        return post.weights, post.marginals

    check_grads(call, (scores, jnp.array([1.1, 0.8])), order=2, modes=("fwd", "rev"), rtol=1e-4)


@pytest.mark.full
def test_forward_over_reverse() -> None:
    scores = to_jax(draw(1, 3, 4))

    def call(temperature: Any) -> Any:
        return (
            spj.sparsemap(scores, TREES, temperature=temperature, max_active=9).marginals ** 3
        ).sum()

    hessian = jax.hessian(call)(jnp.array(1.3))
    nested = jax.grad(jax.grad(call))(jnp.array(1.3))
    assert abs(hessian) > 1e-3
    assert_allclose(hessian, nested, rtol=1e-12)


def test_fewer_structures_are_padded_and_more_are_capped() -> None:
    scores = jnp.zeros((2, 4, 5)).at[0].set(to_jax(9 * draw(1, 4, 5)[0]))
    post = spj.sparsemap(scores, TREES, max_active=3)
    assert post.structures.shape == (2, 3, 4)
    assert post.sizes.tolist() == [1, 3]
    assert post.status.tolist() == [sp.Status.SOLVED, sp.Status.CAPPED]
    assert post.converged.tolist() == [True, False]
    assert post.weights[0].tolist() == [1, 0, 0]
    assert (post.structures[0] == post.structures[0, 0]).all()
    assert_allclose(post.weights.sum(-1), 1)
    cooled = spj.sparsemap(to_jax(draw(2, 4, 5)), TREES, temperature=5.0, max_support=2)
    assert cooled.converged.all()
    assert (cooled.temperature < 5).all()
    assert (cooled.sizes <= 2).all()


@pytest.mark.full
def test_canonical_weights() -> None:
    scores = draw(4, 4, 5)
    expected = sp.sparsemap(scores, TREES, max_support=5, weights="canonical")
    post = spj.sparsemap(to_jax(scores), TREES, max_support=5, weights="canonical")
    assert_array_equal(post.weights, weights_of(expected, 5))
    assert_array_equal(post.canonical, expected.canonical)
    with pytest.raises(ValueError, match='weights="canonical" with max_active=5'):
        spj.sparsemap(to_jax(scores), TREES, max_active=5, weights="canonical")


def test_expectations_and_the_mode() -> None:
    scores, values = draw(3, 4, 5), draw(3, K, 2, seed=1)
    expected = sp.sparsemap(scores, TREES, max_active=K)
    post = spj.sparsemap(to_jax(scores), TREES, max_active=K)
    close(post.expect(to_jax(values)), (weights_of(expected)[..., None] * values).sum(1))
    close(post.expect(to_jax(values[..., 0])), (weights_of(expected) * values[..., 0]).sum(1))
    parts = TREES.indicator(torch.tensor(np.array(post.structures)).flatten(0, 1))
    close(post.expect(to_jax(parts.unflatten(0, (3, K)))), expected.marginals)
    assert_array_equal(post.mode, expected.mode)
    with pytest.raises(ValueError, match=r"expected values of shape \(3, 6, ...\).*\(3, 2\)"):
        post.expect(jnp.zeros((3, 2)))


@pytest.mark.full
def test_vmap_is_one_call() -> None:
    scores = draw(12, 4, 5).reshape(3, 4, 4, 5)
    lengths = torch.tensor([4, 3, 2, 4])
    expected = sp.sparsemap(scores, TREES, lengths=lengths.expand(3, 4), max_active=K)

    def call(scores: Any, lengths: Any) -> spj.SparsePosterior:
        return spj.sparsemap(scores, TREES, lengths=lengths, max_active=K)

    whole = call(to_jax(scores), jnp.broadcast_to(to_jax(lengths), (3, 4)))
    outer = jax.vmap(call, in_axes=(0, None))
    inner = jax.vmap(jax.vmap(call), in_axes=(0, None))
    for mapped in (outer, jax.jit(outer), inner, jax.jit(inner)):
        with sp.count_calls() as calls:
            found = jax.block_until_ready(mapped(to_jax(scores), to_jax(lengths)))
        assert calls.map == int(expected.calls.sum())
        jax.tree.map(assert_array_equal, found, whole)
    slope = jax.vmap(jax.grad(lambda s, n: (call(s, n).marginals ** 2).sum()))
    leaf = scores.flatten(0, 1).requires_grad_()
    post = sp.sparsemap(leaf, TREES, lengths=lengths.repeat(3), max_active=K)
    (gradient,) = torch.autograd.grad(post.marginals.square().sum(), leaf)
    close(slope(to_jax(scores.flatten(0, 1)), to_jax(lengths.repeat(3))), gradient)


@pytest.mark.full
def test_jacobians() -> None:
    """Forward and reverse mode map over directions."""
    scores = to_jax(draw(1, 3, 4)[0])

    def call(scores: Any) -> Any:
        return spj.sparsemap(scores, TREES, max_active=8).marginals

    forward, reverse = jax.jacfwd(call)(scores), jax.jacrev(call)(scores)
    assert_allclose(forward, reverse, atol=1e-14)
    table = forward.reshape(12, 12)
    assert_allclose(table @ table, table, atol=1e-12)  # a projection onto the affine hull
    assert np.linalg.matrix_rank(table) > 0


@pytest.mark.full
def test_lengths_are_shared_along_the_last_batch_dimensions() -> None:
    scores, lengths = draw(6, 4, 5).reshape(2, 3, 4, 5), torch.tensor([4, 2])
    expected = sp.sparsemap(scores, TREES, lengths=lengths, max_active=K)
    post = spj.sparsemap(to_jax(scores), TREES, lengths=to_jax(lengths), max_active=K)
    assert post.structures.shape == (2, 3, K, 4)
    close(post.marginals, expected.marginals)
    pairs, sizes = draw(6, 3, 3).reshape(2, 3, 3, 3), torch.tensor([[3, 2], [1, 3]])
    matching = sp.sparsemap(pairs, sp.Matching(partial=True), lengths=sizes, max_active=K)
    found = spj.sparsemap(
        to_jax(pairs), sp.Matching(partial=True), lengths=to_jax(sizes), max_active=K
    )
    close(found.marginals, matching.marginals)


@pytest.mark.full
@pytest.mark.parametrize("doubles", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_dtypes(dtype: str, doubles: bool) -> None:
    scores = draw(3, 4, 5).to(getattr(torch, dtype))
    leaf = scores.clone().requires_grad_()
    expected = sp.sparsemap(leaf, TREES, max_active=K, temperature=0.7)
    (gradient,) = torch.autograd.grad(expected.marginals.square().sum(), leaf)
    with jax.enable_x64(doubles):
        table = jnp.asarray(scores.float().numpy()).astype(dtype)

        def call(scores: Any) -> spj.SparsePosterior:
            return spj.sparsemap(scores, TREES, max_active=K, temperature=0.7)

        post = jax.jit(call)(table)
        slope = jax.grad(lambda scores: (call(scores).marginals ** 2).sum())(table)
    assert (post.weights.dtype, post.marginals.dtype, slope.dtype) == (table.dtype,) * 3
    assert post.gap.dtype == post.temperature.dtype == ("float64" if doubles else "float32")
    assert post.structures.dtype == post.status.dtype == ("int64" if doubles else "int32")
    tolerance = 4 * torch.finfo(scores.dtype).eps
    close(post.weights.astype("float64"), weights_of(expected).double(), tolerance)
    close(post.marginals.astype("float64"), expected.marginals.double(), tolerance)
    close(slope.astype("float64"), gradient.double(), 4 * tolerance)


@pytest.mark.full
def test_single_precision_loses_little_where_a_support_is_large() -> None:
    """The derivative takes the square root of the inverse, whose condition is moderate."""
    scores = draw(4, 20, 21).float()
    leaf = scores.double().requires_grad_()
    expected = sp.sparsemap(leaf, TREES, max_active=100)
    on_marginals = draw(4, 20, 21, seed=1)
    (gradient,) = torch.autograd.grad((on_marginals * expected.marginals).sum(), leaf)
    assert expected.sizes.max() > 20
    with jax.enable_x64(False):
        along = jnp.asarray(on_marginals.numpy(), "float32")

        def call(scores: Any) -> Any:
            return (along * spj.sparsemap(scores, TREES, max_active=100).marginals).sum()

        slope = jax.grad(call)(jnp.asarray(scores.numpy()))
    assert slope.dtype == "float32"
    close(slope, gradient, 1e-5)


@pytest.mark.full
def test_no_instances() -> None:
    post = jax.jit(lambda s: spj.sparsemap(s, TREES, max_active=2))(jnp.zeros((0, 3, 4)))
    assert post.structures.shape == (0, 2, 3)
    assert post.marginals.shape == (0, 3, 4)
    slope = jax.grad(lambda s: spj.sparsemap(s, TREES, max_active=2).weights.sum())
    assert slope(jnp.zeros((0, 3, 4))).shape == (0, 3, 4)


@pytest.mark.full
def test_one_instance_without_batch() -> None:
    scores = draw(1, 4, 5)
    expected = sp.sparsemap(scores[0], TREES, max_active=K)
    post = jax.jit(lambda s: spj.sparsemap(s, TREES, max_active=K))(to_jax(scores[0]))
    assert_array_equal(post.weights, weights_of(expected)[0])
    assert post.structures.shape == (K, 4)
    assert post.mode.tolist() == expected.mode.tolist()


@pytest.mark.full
def test_a_structure_of_your_own() -> None:
    """Two adjacent seats: no native solver, and one batch dimension."""
    scores = draw(4, 5)
    leaf = scores.clone().requires_grad_()
    expected = sp.sparsemap(leaf, Seats(), max_active=4)
    (gradient,) = torch.autograd.grad(expected.marginals.square().sum(), leaf)

    def call(scores: Any) -> Any:
        return spj.sparsemap(scores, Seats(), max_active=4)

    post = jax.jit(call)(to_jax(scores))
    close(post.weights, weights_of(expected, 4))
    slope = jax.grad(lambda scores: (call(scores).marginals ** 2).sum())
    close(slope(to_jax(scores)), gradient)
    mapped = jax.vmap(call)(to_jax(scores.reshape(2, 2, 5)))
    assert_array_equal(mapped.weights.reshape(4, 4), post.weights)


@pytest.mark.full
def test_control_flow_and_checkpoints() -> None:
    tables = to_jax(draw(6, 3, 4)).reshape(3, 2, 3, 4)

    def step(total: Any, scores: Any) -> Any:
        post = spj.sparsemap(scores + total, TREES, max_active=4)
        return total + post.marginals, post.weights

    @jax.jit
    def loop(tables: Any, step: Callable[..., Any] = step) -> Any:
        return jax.lax.scan(step, jnp.zeros((2, 3, 4)), tables)

    def remat(tables: Any) -> Any:
        return loop(tables, jax.checkpoint(step))

    total, found = jnp.zeros((2, 3, 4)), []
    for scores in tables:
        total, weights = step(total, scores)
        found.append(weights)
    assert_array_equal(loop(tables)[0], total)
    assert_array_equal(loop(tables)[1], jnp.stack(found))


def test_a_fixed_number_of_structures_is_needed() -> None:
    scores = jnp.zeros((2, 3, 4))
    with pytest.raises(ValueError, match="expected max_active or max_support"):
        spj.sparsemap(scores, TREES)
    with pytest.raises(ValueError, match="max_support=3 with max_active=3"):
        spj.sparsemap(scores, TREES, max_active=3, max_support=3)
    with pytest.raises(ValueError, match="max_active must be at least 1, got 0"):
        spj.sparsemap(scores, TREES, max_active=0)
