"""MAP inference on jax arrays."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest
import torch
from numpy.testing import assert_array_equal

import sparsewood as sp
import sparsewood.jax as spj
from sparsewood.testing import draw_scores
from tests.families import FAMILIES, batch_of
from tests.full import some_quick
from tests.seats import Seats


@pytest.mark.parametrize("name", some_quick(FAMILIES))
def test_as_on_tensors(name: str) -> None:
    family = FAMILIES[name]
    scores, lengths = batch_of(family)
    expected = sp.map(scores, family.structure, lengths=lengths)

    def call(scores: Any, lengths: Any) -> spj.Best:
        return spj.map(scores, family.structure, lengths=lengths)

    tables = jnp.asarray(scores.numpy()), jnp.asarray(lengths.numpy())
    for mapped in (call, jax.jit(call), jax.vmap(call)):
        found = mapped(*tables)
        assert_array_equal(found.structures, expected.structures)
        assert_array_equal(found.scores, expected.scores)


def test_it_has_no_gradient() -> None:
    scores = jnp.asarray(draw_scores("normal", 2, (3, 4), seed=0).numpy())
    slope = jax.grad(lambda scores: spj.map(scores, sp.DependencyTrees()).scores.sum())
    assert (slope(scores) == 0).all()


def test_arrays_of_numpy_and_half_precision() -> None:
    scores = draw_scores("normal", 2, (3, 4), seed=0).half()
    expected = sp.map(scores, sp.DependencyTrees())
    found = spj.map(scores.numpy(), sp.DependencyTrees())  # pyright: ignore[reportArgumentType]
    assert found.scores.dtype == "float16"
    assert found.scores.tolist() == expected.scores.tolist()


class Lone(Seats):
    """Seats that do not say how many dimensions their scores have."""

    parts_ndim = None


@pytest.mark.full
def test_a_structure_with_one_batch_dimension() -> None:
    scores = draw_scores("normal", 6, (5,), seed=0)
    expected = sp.map(scores, Lone())
    found = jax.jit(lambda scores: spj.map(scores, Lone()))(jnp.asarray(scores.numpy()))
    assert_array_equal(found.structures, expected.structures)
    tables = jnp.asarray(scores.reshape(2, 3, 5).numpy())
    mapped = jax.vmap(lambda scores: spj.map(scores, Lone()))(tables)
    assert_array_equal(mapped.structures, expected.structures.reshape(2, 3, 5))
    post = jax.vmap(lambda scores: spj.sparsemap(scores, Lone(), max_active=3))(tables)
    flat = sp.sparsemap(scores, Lone(), max_active=3)
    torch.testing.assert_close(
        torch.tensor(post.marginals.tolist()).flatten(0, 1).double(), flat.marginals
    )
