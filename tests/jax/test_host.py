"""Calls from compiled functions: errors, large batches, threads."""

import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import sparsewood as sp
import sparsewood.jax as spj
from sparsewood.testing import draw_scores

TREES = sp.DependencyTrees()
CALLS: dict[str, Any] = {
    "map": lambda scores, **named: spj.map(scores, TREES, **named).scores,
    "sparsemap": lambda scores, **named: (
        spj.sparsemap(scores, TREES, max_active=4, **named).marginals
    ),
    "marginals": lambda scores, **named: spj.marginals(scores, TREES, **named).marginals,
    "crf_loss": lambda scores, **named: spj.crf_loss(
        scores, jnp.zeros(scores.shape[:-1], int), TREES, **named
    ),
}


def run(code: str) -> str:
    """The output of a program; it fails if that takes minutes."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


each_call = pytest.mark.parametrize("call", CALLS)


def message_of(call: Any, *args: Any, **named: Any) -> str:
    with pytest.raises(ValueError, match=".") as caught:
        call(*args, **named)
    return str(caught.value)


@each_call
def test_values_are_checked_where_they_are_known(call: str) -> None:
    """Words and indices are those of the call on tensors, in jit after jax's own."""
    torch_calls: dict[str, Any] = {
        "map": sp.map, "sparsemap": sp.sparsemap, "marginals": sp.marginals
    }  # fmt: skip
    scores = np.zeros((2, 3, 4, 5))
    scores[1, 2, 0, 3] = np.nan
    dead = np.zeros((2, 3, 4, 5))
    dead[1, 0, 2] = -np.inf
    for table in (scores, dead):
        ours = message_of(CALLS[call], jnp.asarray(table))
        if call in torch_calls:
            assert ours == message_of(torch_calls[call], torch.tensor(table), TREES)
        assert "[1, " in ours or "(1, " in ours
        compiled = jax.jit(CALLS[call])
        with pytest.raises(jax.errors.JaxRuntimeError) as caught:
            compiled(jnp.asarray(table)).block_until_ready()
        assert ours in str(caught.value)


@each_call
def test_shapes_are_checked_when_jax_traces(call: str) -> None:
    bad: list[tuple[Any, dict[str, Any], str]] = [
        (jnp.zeros((2, 3, 3)), {}, r"arc scores: expected .*got shape \(2, 3, 3\)"),
        (jnp.zeros((2, 3, 4), int), {}, "expected a tensor of a floating dtype, got torch.int64"),
        (jnp.zeros((2, 3, 4)), {"lengths": jnp.ones((3,), int)}, r"lengths: expected .*\(3,\)"),
        (jnp.zeros((2, 3, 4)), {"lengths": jnp.ones(2)}, "lengths: expected an integer dtype"),
        (jnp.zeros(()), {}, r"scores: expected \(\*batch, \*parts\)"),
    ]  # fmt: skip
    for scores, named, message in bad:
        for wrap in (lambda f: f, jax.jit):
            with pytest.raises(ValueError, match=message):
                wrap(CALLS[call])(scores, **named)


def test_other_wrong_arguments() -> None:
    scores = jnp.zeros((2, 3, 4))
    with pytest.raises(ValueError, match="scores: expected a tensor of a floating dtype, got list"):
        spj.map([[[0.0, 1.0]]], TREES)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="structure: expected a Structure such as"):
        spj.map(scores, sp.DependencyTrees)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"lengths\[1\] is 4: expected 1 to 3"):
        spj.map(scores, TREES, lengths=jnp.array([3, 4]))
    with pytest.raises(ValueError, match="temperature must be positive and finite, got -1"):
        jax.jit(lambda s: spj.marginals(s, TREES, temperature=-1))(scores)
    with pytest.raises(ValueError, match=r"temperature: expected a number or shape \(2,\)"):
        spj.marginals(scores, TREES, temperature=jnp.ones(3))
    for call in (spj.marginals, lambda *a, **n: spj.sparsemap(*a, **n, max_active=2)):
        with pytest.raises(
            ValueError, match=r"temperature\[1\] must be positive and finite, got 0"
        ):
            call(scores, TREES, temperature=jnp.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="expected an array of numbers, got dtype key"):
        spj.map(jax.random.key(0), TREES)


@pytest.mark.full
def test_the_input_is_not_modified() -> None:
    scores = np.random.default_rng(0).normal(size=(3, 4, 5))
    before = scores.copy()
    table = jnp.asarray(scores)
    for call in CALLS.values():
        jax.grad(lambda s, call=call: call(s).sum())(table)
    assert (np.asarray(table) == before).all()
    assert (scores == before).all()


@pytest.mark.full
def test_large_batches_with_threads() -> None:
    """A callback that waits for jax, or for a lock that its caller holds, never returns."""
    code = """
import jax, jax.numpy as jnp, torch
import sparsewood as sp, sparsewood.jax as spj
sp.set_num_threads(2); torch.set_num_threads(2)
scores = jax.random.normal(jax.random.key(0), (4096, 12, 13))

@jax.jit
def step(scores):
    def total(scores):
        post = spj.sparsemap(scores, sp.DependencyTrees(), max_active=8)
        dist = spj.marginals(scores, sp.DependencyTrees())
        return (post.marginals * dist.marginals).sum() + dist.log_partition.sum()
    return scores - 0.1 * jax.grad(total)(scores)

for _ in range(3):
    scores = step(scores)
print(bool(jnp.isfinite(scores).all()))
"""
    assert run(code) == "True\n"


@pytest.mark.full
def test_large_arrays_on_one_core() -> None:
    """XLA has one thread then, which a callback must not wait for: with `pure_callback` it does."""
    code = """
import os
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
import jax, jax.numpy as jnp
import sparsewood as sp, sparsewood.jax as spj

@jax.jit
def total(scores):
    best = [spj.map(scores * 2, sp.Simplex()), spj.map(scores + 1, sp.Simplex())]
    return best[0].scores.sum() - 2 * best[1].scores.sum() + 0 * (scores @ scores.T).sum()

scores = jax.random.normal(jax.random.key(0), (1000, 1000))
print([round(float(x)) for x in [total(scores + i) for i in range(4)]])
"""
    assert run(code) == f"{[-2000] * 4}\n"


@pytest.mark.full
def test_many_calls_in_flight() -> None:
    """Dispatch returns before a call is finished."""
    step = jax.jit(lambda s: spj.sparsemap(s, TREES, max_active=4).marginals)
    tables = [jnp.asarray(draw_scores("normal", 16, (8, 9), seed=i).numpy()) for i in range(20)]
    found = [step(table) for table in tables]
    for table, answer in zip(tables, found, strict=True):
        expected = sp.sparsemap(torch.tensor(np.array(table)), TREES, max_active=4).marginals
        assert (np.asarray(answer) == expected.numpy()).all()
