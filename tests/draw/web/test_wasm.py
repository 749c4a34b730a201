"""sparsewood.wasm gives the results of the native core, for every family and call."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.base import NativeStructure
from sparsewood.testing import draw_scores
from tests.families import FAMILIES
from tests.wasm import Core

KINDS = ("normal", "small", "large", "integers", "equal", "forbidden")
TIED = ("integers", "equal")  # the k best after the first may be others

every_family = pytest.mark.parametrize("name", FAMILIES)
some = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def core() -> Core:
    return Core()


def drawn(name: str, kind: str, seed: int) -> tuple[Tensor, NativeStructure]:
    """Scores (*parts) of a kind, with at least one structure."""
    structure, shape, _ = FAMILIES[name]
    scores = draw_scores(kind, 1, shape, seed)
    if kind == "forbidden":
        best = sp.map(draw_scores("normal", 1, shape, seed), structure).structures
        kept = structure.indicator(best, shape) > 0
        scores = torch.where(kept, draw_scores("normal", 1, shape, seed), scores)
    return scores[0], structure


def test_nothing_but_failures_is_imported(core: Core):
    assert core.imports == ["sparsewood.fail"]


@every_family
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 99),
    temperature=st.sampled_from([1.0, 0.3, 2.5, 1e-3]),
    cap=st.sampled_from(["none", "active", "iter", "support"]),
    most=st.integers(1, 6),
    canonical=st.booleans(),
)
@some
def test_sparsemap(
    core: Core,
    name: str,
    kind: str,
    seed: int,
    temperature: float,
    cap: str,
    most: int,
    canonical: bool,
):
    scores, structure = drawn(name, kind, seed)
    caps: dict[str, Any] = {} if cap == "none" else {f"max_{cap}": most}
    wanted = sp.sparsemap(
        scores[None],
        structure,
        temperature=temperature,
        weights="canonical" if canonical else "solver",
        **caps,
    )
    found = core.sparsemap(scores, structure, temperature, canonical=canonical, **caps)
    weights, marginals = found.rest
    gap, status, calls, temperature, is_canonical = found.end
    assert torch.equal(found.structures, wanted.structures)
    assert torch.equal(weights, wanted.weights)
    assert torch.equal(marginals.view(scores.shape), wanted.marginals[0])
    assert gap == float(wanted.gap)
    assert status == int(wanted.status)
    assert calls == int(wanted.calls)
    assert temperature == float(wanted.temperature)
    assert bool(is_canonical) == bool(wanted.canonical)


@every_family
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 99), k=st.integers(1, 12))
@some
def test_kbest_and_map(core: Core, name: str, kind: str, seed: int, k: int):
    scores, structure = drawn(name, kind, seed)
    wanted = sp.kbest(scores[None], structure, k)
    there = wanted.scores[0].isfinite()
    found = core.kbest(scores, structure, k)
    torch.testing.assert_close(found.rest[0], wanted.scores[0, there], rtol=1e-14, atol=1e-12)
    assert torch.equal(found.structures[0], wanted.structures[0, 0])
    assert len(found.structures.unique(dim=0)) == there.sum()
    if kind not in TIED:
        assert torch.equal(found.structures, wanted.structures[0, there])
    indicators = structure.indicator(found.structures, tuple(scores.shape)).flatten(1)
    for parts, indicator in zip(found.parts, indicators, strict=True):
        assert sorted(parts) == indicator.nonzero().flatten().tolist()
    best = core.kbest(scores, structure, 1)
    assert torch.equal(best.structures, sp.map(scores[None], structure).structures)


def said(call: Callable[[], object]) -> str:
    """The error of a call; "" if there is none."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return ""


@every_family
def test_the_same_errors(core: Core, name: str):
    structure, shape, _ = FAMILIES[name]
    fine, _ = drawn(name, "normal", 0)
    for value in (torch.nan, torch.inf, 1e201, -torch.inf):
        scores = torch.full(shape, value, dtype=torch.float64)
        native = said(lambda scores=scores: sp.sparsemap(scores[None], structure))
        assert said(lambda scores=scores: core.sparsemap(scores, structure)) == native
        assert native or value == -torch.inf  # then a structure without any part is left
        assert len(core.kbest(fine, structure, 1).structures) == 1


@pytest.mark.full
def test_a_problem_too_large_fails_and_the_next_one_is_solved(core: Core):
    n = 5000
    with pytest.raises(ValueError, match="more memory than there is"):
        core.sparsemap(torch.zeros(n, n + 1).double(), sp.DependencyTrees())
    scores, structure = drawn("trees", "normal", 0)
    assert core.sparsemap(scores, structure).end[1] == 0
