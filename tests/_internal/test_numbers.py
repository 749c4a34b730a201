"""Every call rejects invalid counts and real numbers, and names them."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
import torch

import sparsewood as sp
from sparsewood._internal.numbers import check_choice, check_real, check_whole

TREES = sp.DependencyTrees()
HUGE = pytest.param(10**5000, id="huge")
SCORES = torch.zeros(2, 3, 4, dtype=torch.float64)


@pytest.mark.parametrize("value", [1, 7, np.int64(3), torch.tensor(2)])
def test_whole_numbers(value: Any) -> None:
    found = check_whole("k", value)
    assert type(found) is int
    assert found == int(value)


_NO_COUNTS = [0, -1, 1.5, 2.0, "a", None, float("nan"), True, torch.tensor(1.5), torch.arange(2)]


@pytest.mark.parametrize("value", [*_NO_COUNTS, 2**31, HUGE])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda value: sp.kbest(SCORES, TREES, value), "kbest: k"),
        (lambda value: sp.marginals(SCORES, TREES).sample(value), "sample: n"),
        (lambda value: sp.sparsemap(SCORES, TREES).sample(value), "sample: k"),
        (lambda value: sp.sparsemap(SCORES, TREES).topk(value), "topk: k"),
        (lambda value: sp.SemiMarkov(value), "max_length"),
        (lambda value: sp.FactorGraph().variables(2, value), "variables"),
        (lambda value: sp.lp_sparsemap(SCORES, _graph(), max_iter=value), "max_iter"),
    ],
)
def test_counts(call: Callable[[Any], Any], name: str, value: Any) -> None:
    rule = f"{name}.* must be (at least 1|at most 2147483647|a whole number), got [^\\n]{{1,70}}$"
    with pytest.raises(ValueError, match=rule):
        call(value)


@pytest.mark.parametrize("value", [0, -1, 1.5, "a", True, 2**31, torch.tensor(1.5)])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda value: sp.sparsemap(SCORES, TREES, max_active=value), "max_active"),
        (lambda value: sp.sparsemap(SCORES, TREES, max_iter=value), "max_iter"),
        (lambda value: sp.Subset(value), "Subset: k"),
        (lambda value: sp.Subset(at_most=value), "Subset: at_most"),
        (lambda value: sp.DependencyTrees(projective=True, max_children=value), "max_children"),
    ],
)
def test_counts_that_may_be_none(call: Callable[[Any], Any], name: str, value: Any) -> None:
    rule = f"^{name} must be (at least 1|at most 2147483647|a whole number), got [^\\n]+$"
    with pytest.raises(ValueError, match=rule):
        call(value)


def test_a_budget_may_be_zero() -> None:
    assert sp.Budget(0).k == 0
    with pytest.raises(ValueError, match="Budget: k must be a whole number, got 0.5"):
        sp.Budget(0.5)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "value", [-1.0, float("nan"), float("inf"), "a", None, 1j, True, 10**400, HUGE]
)
def test_real_numbers(value: Any) -> None:
    with pytest.raises(ValueError, match="tol must be at least 0 and finite, got"):
        check_real("tol", value)
    with pytest.raises(ValueError, match="temperature must be positive and finite, got"):
        sp.sparsemap(SCORES, TREES, temperature=value)
    with pytest.raises(ValueError, match="tol must be at least 0 and finite, got"):
        sp.lp_sparsemap(SCORES, _graph(), tol=value)
    gold = torch.zeros(2, 3, dtype=torch.int64)
    with pytest.raises(ValueError, match="margin must be at least 0 and finite, got"):
        sp.hinge_loss(SCORES, gold, TREES, margin=value)


def test_graphs_stay_as_they_were_after_a_refusal() -> None:
    graph = _graph()
    with pytest.raises(ValueError, match="variables"):
        graph.variables(1.5)  # pyright: ignore[reportArgumentType]
    assert sp.lp_sparsemap(SCORES, graph).marginals.shape == SCORES.shape


def _graph() -> sp.FactorGraph:
    graph = sp.FactorGraph()
    graph.add(TREES, graph.variables(3, 4))
    return graph


def test_words() -> None:
    check_choice("colour", "red", Literal["red", "blue"])
    with pytest.raises(ValueError, match="colour: expected one of red, blue; got 3"):
        check_choice("colour", 3, Literal["red", "blue"])
