"""Sums over all structures on jax arrays, against the same calls on tensors."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax.test_util import check_grads
from numpy.testing import assert_allclose

import sparsewood as sp
import sparsewood.jax as spj
from sparsewood.testing import draw_scores
from tests.families import FAMILIES, batch_of
from tests.full import some_quick

SUMMED = [name for name, family in FAMILIES.items() if family.structure.has_sums]
TREES = sp.DependencyTrees()
wraps = pytest.mark.parametrize("wrap", some_quick([jax.jit, lambda f: f]), ids=["jit", "eager"])


def close(found: Any, expected: torch.Tensor, tolerance: float = 1e-12) -> None:
    scale = max(1.0, float(expected.detach().abs().max()))
    assert_allclose(np.asarray(found), expected.detach().numpy(), rtol=0, atol=tolerance * scale)


def test_families_with_sums() -> None:
    without = {"matching", "partial-matching", "transport", "bounded-transport"}
    assert set(FAMILIES) - set(SUMMED) == without


@pytest.mark.parametrize("name", some_quick(SUMMED))
@wraps
def test_as_on_tensors(wrap: Any, name: str) -> None:
    family = FAMILIES[name]
    scores, lengths = batch_of(family)
    scores[7] = scores[7].nan_to_num(nan=0.0, neginf=0.0) * 1e-7  # no rounding errors of 1e-8
    scores[7] = scores[7].masked_fill(~family.structure.reads(scores, lengths)[7], torch.nan)
    leaf = scores.clone().requires_grad_()
    temperature = torch.linspace(0.5, 2, len(scores), dtype=torch.float64).requires_grad_()
    dist = sp.marginals(leaf, family.structure, lengths=lengths, temperature=temperature)
    along = draw_scores("normal", len(scores), family.shape, seed=1)
    total = dist.log_partition.sum() + (along * dist.marginals).sum()
    expected = torch.autograd.grad(total, (leaf, temperature), create_graph=False)

    def call(scores: Any, temperature: Any) -> tuple[Any, spj.StructureDistribution]:
        dist = spj.marginals(
            scores,
            family.structure,
            lengths=jnp.asarray(lengths.numpy()),
            temperature=temperature,
        )
        return dist.log_partition.sum() + (along.numpy() * dist.marginals).sum(), dist

    tables = jnp.asarray(scores.numpy()), jnp.asarray(temperature.detach().numpy())
    slope = jax.grad(call, argnums=(0, 1), has_aux=True)
    found, answer = wrap(slope)(*tables)
    close(answer.log_partition, dist.log_partition)
    close(answer.marginals, dist.marginals)
    for ours, theirs in zip(found, expected, strict=True):
        close(ours, theirs)


@pytest.mark.full
@pytest.mark.parametrize("structure", [TREES, sp.DependencyTrees(projective=True)], ids=str)
def test_three_derivatives(structure: sp.Structure) -> None:
    scores = jnp.asarray(draw_scores("normal", 1, (3, 4), seed=0).numpy())

    def call(scores: Any, temperature: Any) -> Any:
        return spj.marginals(scores, structure, temperature=temperature).log_partition

    check_grads(call, (scores, jnp.array([1.2])), order=3, modes=("rev",), rtol=1e-4)


@pytest.mark.full
def test_the_hessian_is_the_covariance() -> None:
    scores = draw_scores("normal", 1, (3, 4), seed=0)
    parts = TREES.indicator(TREES.enumerate(3)).flatten(1)
    p = torch.softmax(parts @ scores.flatten(), 0)
    mean = p @ parts
    covariance = (parts - mean).T @ torch.diag(p) @ (parts - mean)
    table = jnp.asarray(scores[0].numpy())
    log_z = jax.jacrev(jax.jacrev(lambda s: spj.marginals(s, TREES).log_partition))(table)
    close(log_z.reshape(12, 12), covariance)
    mu = jax.jacrev(lambda s: spj.marginals(s, TREES).marginals)(table)
    close(mu.reshape(12, 12), covariance)


@pytest.mark.full
def test_the_gradient_of_log_z_needs_no_second_call() -> None:
    scores = jnp.asarray(draw_scores("normal", 4, (5, 6), seed=0).numpy())
    for wrap in (lambda f: f, jax.jit):
        slope = wrap(jax.grad(lambda s: spj.marginals(s, TREES).log_partition.sum()))
        with sp.count_calls() as calls:
            jax.block_until_ready(slope(scores))
        assert calls.sums == 4


def test_forward_mode_is_refused() -> None:
    scores = jnp.zeros((1, 3, 4))
    with pytest.raises(TypeError, match="can't apply forward-mode"):
        jax.jvp(lambda s: spj.marginals(s, TREES).marginals, (scores,), (scores,))


@pytest.mark.full
def test_vmap() -> None:
    scores = draw_scores("normal", 6, (4, 5), seed=0)
    temperature = torch.tensor([0.5, 2.0], dtype=torch.float64)
    expected = sp.marginals(scores.reshape(2, 3, 4, 5), TREES, temperature=temperature[:, None])
    call = jax.vmap(lambda s, t: spj.marginals(s, TREES, temperature=t))
    table = jnp.asarray(scores.reshape(2, 3, 4, 5).numpy())
    for mapped in (call, jax.jit(call)):
        with sp.count_calls() as calls:
            found = jax.block_until_ready(mapped(table, jnp.asarray(temperature.numpy())))
        assert calls.sums == 6
        close(found.log_partition, expected.log_partition)
        close(found.marginals, expected.marginals)


@pytest.mark.full
def test_single_precision() -> None:
    scores = draw_scores("normal", 3, (4, 5), seed=0).float()
    expected = sp.marginals(scores, TREES)
    with jax.enable_x64(False):
        found = jax.jit(lambda s: spj.marginals(s, TREES))(jnp.asarray(scores.numpy()))
        assert found.log_partition.dtype == found.marginals.dtype == "float32"
        close(found.log_partition, expected.log_partition, 1e-7)
        close(found.marginals, expected.marginals, 1e-7)


def test_families_without_a_sum() -> None:
    with pytest.raises(ValueError, match="no marginals for Matching"):
        spj.marginals(jnp.zeros((1, 2, 2)), sp.Matching())
