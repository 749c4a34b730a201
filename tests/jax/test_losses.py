"""Losses on jax arrays, against the same calls on tensors."""

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
from tests.families import FAMILIES, Family, batch_of
from tests.full import some_quick

LOSSES: dict[str, dict[str, Any]] = {
    "crf_loss": {},
    "sparsemap_loss": {"margin": 0.5},
    "hinge_loss": {"margin": 2.0},
    "perceptron_loss": {},
}
each_loss = pytest.mark.parametrize("loss", LOSSES)
TREES = sp.DependencyTrees()
wraps = pytest.mark.parametrize("wrap", some_quick([jax.jit, lambda f: f]), ids=["jit", "eager"])


def problem(family: Family) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Scores, gold structures and lengths; the last instance has large scores: leave it out."""
    scores, lengths = batch_of(family)
    other = draw_scores("normal", 8, family.shape, seed=3).masked_fill(
        scores == -torch.inf, -torch.inf
    )
    gold = sp.map(other, family.structure, lengths=lengths).structures
    return scores[:7], gold[:7], lengths[:7]


def close(found: Any, expected: torch.Tensor) -> None:
    scale = max(1.0, float(expected.detach().abs().max()))
    assert_allclose(np.asarray(found), expected.detach().numpy(), rtol=0, atol=1e-12 * scale)


def arrays(*tables: torch.Tensor) -> list[Any]:
    return [jnp.asarray(table.detach().numpy()) for table in tables]


@each_loss
@pytest.mark.parametrize("name", some_quick(FAMILIES))
@wraps
def test_as_on_tensors(wrap: Any, name: str, loss: str) -> None:
    family = FAMILIES[name]
    if loss == "crf_loss" and not family.structure.has_sums:
        return
    scores, gold, lengths = problem(family)
    leaf = scores.clone().requires_grad_()
    options = {"lengths": lengths, "reduction": "none", **LOSSES[loss]}
    expected = getattr(sp, loss)(leaf, gold, family.structure, **options)
    share = torch.linspace(0.5, 2, 7, dtype=torch.float64)
    (gradient,) = torch.autograd.grad((share * expected).sum(), leaf)

    def call(scores: Any, gold: Any, lengths: Any) -> tuple[Any, Any]:
        options = {"lengths": lengths, "reduction": "none", **LOSSES[loss]}
        found = getattr(spj, loss)(scores, gold, family.structure, **options)
        return (found * share.numpy()).sum(), found

    slope = jax.grad(call, has_aux=True)
    ours, found = wrap(slope)(*arrays(scores, gold, lengths))
    close(found, expected)
    close(ours, gradient)


@pytest.mark.full
@each_loss
def test_reductions_and_dtypes(loss: str) -> None:
    scores, gold, lengths = problem(FAMILIES["trees"])
    for reduction in ("mean", "sum"):
        expected = getattr(sp, loss)(scores, gold, TREES, lengths=lengths, reduction=reduction)
        tables = arrays(scores, gold)
        found = getattr(spj, loss)(*tables, TREES, lengths=lengths.numpy(), reduction=reduction)
        close(found, expected)
        with jax.enable_x64(False):
            single = getattr(spj, loss)(
                *arrays(scores.float(), gold), TREES, lengths=lengths.numpy(), reduction=reduction
            )
        assert (single.dtype, single.shape) == ("float32", ())
        assert_allclose(single, expected, rtol=1e-6)


@pytest.mark.full
@each_loss
def test_vmap_is_one_call(loss: str) -> None:
    scores, gold, lengths = arrays(*problem(FAMILIES["trees"]))

    def call(scores: Any, gold: Any, lengths: Any) -> Any:
        return getattr(spj, loss)(scores, gold, TREES, lengths=lengths, reduction="none")

    expected = call(scores, gold, lengths)
    assert_allclose(jax.vmap(call)(scores, gold, lengths), expected, rtol=1e-14)
    assert_allclose(jax.jit(jax.vmap(call))(scores, gold, lengths), expected, rtol=1e-14)
    slopes = jax.vmap(jax.grad(lambda *given: call(*given).sum()))(scores, gold, lengths)
    whole = jax.grad(lambda *given: call(*given).sum())(scores, gold, lengths)
    assert_allclose(slopes, whole, atol=1e-14)


@pytest.mark.full
@each_loss
def test_derivatives(loss: str) -> None:
    scores = jnp.asarray(draw_scores("normal", 2, (3, 4), seed=0).numpy())
    gold = jnp.array([[0, 1, 2], [3, 1, 0]])

    def call(scores: Any) -> Any:
        return getattr(spj, loss)(scores, gold, TREES)

    check_grads(call, (scores,), order=1, modes=("fwd", "rev"), rtol=1e-4)
    check_grads(call, (scores,), order=2, modes=("rev",), rtol=1e-3)
    curved = jax.jacrev(jax.jacrev(call))(scores)
    assert (abs(curved).sum() > 0.01) == (loss in ("crf_loss", "sparsemap_loss"))
    if loss == "crf_loss":
        check_grads(call, (scores,), order=3, modes=("rev",), rtol=1e-3)


def test_a_cap_for_training() -> None:
    scores, gold = torch.zeros(1, 6, 7, dtype=torch.float64), torch.zeros(1, 6, dtype=torch.int64)
    expected = sp.sparsemap_loss(scores, gold, TREES, max_active=4)
    assert expected < sp.sparsemap_loss(scores, gold, TREES)
    tables = [jnp.asarray(table.numpy()) for table in (scores, gold)]
    close(spj.sparsemap_loss(tables[0], tables[1], TREES, max_active=4), expected)


def test_bad_gold_structures() -> None:
    scores = jnp.zeros((2, 3, 4))
    for gold, message in (
        (jnp.zeros((2, 3)), "gold: expected an integer dtype, got torch.float64"),
        (
            jnp.zeros((2, 4), int),
            r"gold of shape \(2, 4\) does not fit scores of shape \(2, 3, 4\)",
        ),
        (jnp.zeros((3, 3), int), "gold: expected 2 structures, one per instance"),
    ):
        for wrap in (lambda f: f, jax.jit):
            with pytest.raises(ValueError, match=message):
                wrap(lambda s, g: spj.crf_loss(s, g, TREES))(scores, gold)
    cycle = jnp.array([[0, 1, 2], [2, 1, 0]])
    with pytest.raises(ValueError, match=r"gold\[1\] is not one of DependencyTrees"):
        spj.crf_loss(scores, cycle, TREES)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"gold\[1\] is not one of Dependency"):
        jax.jit(lambda s, g: spj.crf_loss(s, g, TREES))(scores, cycle).block_until_ready()
    with pytest.raises(ValueError, match="margin must be at least 0"):
        spj.hinge_loss(scores, jnp.zeros((2, 3), int), TREES, margin=-1.0)
    with pytest.raises(ValueError, match="reduction must be"):
        spj.crf_loss(scores, jnp.zeros((2, 3), int), TREES, reduction="all")  # pyright: ignore
