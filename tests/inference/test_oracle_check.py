"""Oracles that minimise are detected, and oracles that maximise are accepted."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.oracle_error import OracleValueError
from sparsewood.testing import StructureConformance, draw_scores
from tests.seats import Seats


class WorstSeats(Seats):
    """A function of costs that is given scores instead."""

    def best(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        left = (scores[:-1] + scores[1:]).argmin()
        return np.isin(np.arange(len(scores)), [left, left + 1])

    def enumerate(self, n: int) -> Tensor:
        return torch.eye(n, dtype=torch.int64)[:-1] + torch.eye(n, dtype=torch.int64)[1:]


class Stretches(sp.Custom):
    """Any of the items: an oracle that is wrong after a few calls."""

    def __init__(self) -> None:
        self.asked = 0

    def best(self, scores: Tensor) -> Tensor:
        self.asked += 1
        return scores > 0 if self.asked < 3 else scores < 0

    def parts(self, structure: Tensor) -> Tensor:
        return structure

    def check(self, shape: tuple[int, ...]) -> None:
        pass


class Narrow(Seats):
    """In float32."""

    def best(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        low = scores.astype(np.float32)
        left = (low[:-1] + low[1:]).argmax()
        return np.isin(np.arange(len(scores)), [left, left + 1])


class Costs(Narrow):
    """An algorithm for positive costs, such as Dijkstra's: no score may be above 0."""

    def best(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        if scores.max() > 0:
            raise ValueError("a cost is negative")
        return super().best(scores)


MESSAGE = "expected the structure with the highest score"
CALLS: list[dict[str, Any]] = [{}, {"max_support": 2}, {"max_active": 2}, {"weights": "canonical"}]


@pytest.mark.parametrize("options", CALLS, ids=str)
@pytest.mark.parametrize("temperature", [0.01, 1.0, 100.0])
def test_a_minimiser_is_named(options: dict[str, Any], temperature: float) -> None:
    scores = torch.zeros(2, 2, 5, dtype=torch.float64)
    scores[1, 0] = torch.tensor([3.0, 1.0, 0.0, -1.0, -2.0])  # in the others all choices are equal
    temperatures = temperature * torch.ones(2, 2)
    found = f"{-3 / temperature:.6g}, but .* scores {4 / temperature:.6g}: {MESSAGE}"
    message = rf"instance \(1, 0\): the oracle returned a structure that scores {found}"
    with pytest.raises(OracleValueError, match=message):
        sp.sparsemap(scores, WorstSeats(), temperature=temperatures, **options)


def test_a_minimiser_is_named_by_the_path() -> None:
    with pytest.raises(ValueError, match=f"instance 1: .* {MESSAGE}"):
        sp.temperature_path(torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), WorstSeats())


def test_an_answer_below_an_earlier_one_is_named() -> None:
    scores = torch.tensor([[0.3, -0.4, 0.6, 0.2]])
    with pytest.raises(OracleValueError, match=f"instance 0: .* {MESSAGE}"):
        sp.sparsemap(scores, Stretches())


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([1e-209, 1e-6, 0.1, 1.0, 1e6]),
    st.sampled_from([-1e7, -10.0, 0.0]),
    st.sampled_from([0.1, 1.0]),
)
def test_rounding_of_float32_is_no_alarm(
    seed: int, scale: float, offset: float, temperature: float
) -> None:
    scores = scale * draw_scores("integers" if seed % 2 else "normal", 2, (6,), seed=seed)
    scores = scores - scores.max() + offset
    sp.sparsemap(scores, Narrow(), temperature=temperature)


def test_costs_stay_costs_where_scores_are_reflected() -> None:
    scores = torch.tensor([[-9.0, -1.0, -1.5, -8.0]])
    assert sp.sparsemap(scores, Costs()).sizes.tolist() == [1]


def test_what_fails_on_reflected_scores_is_no_alarm() -> None:
    class Picky(Seats):
        def best(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
            if scores.argmax() not in (1, 2):
                raise RuntimeError("never seen before")
            return super().best(scores)

    scores = torch.tensor([[-9.0, -1.0, -1.5, -8.0]])
    assert sp.sparsemap(scores, Picky()).sizes.tolist() == [1]


def test_one_question_more_for_a_batch() -> None:
    asked = 0

    class Counted(Seats):
        def best(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
            nonlocal asked
            asked += 1
            return super().best(scores)

    post = sp.sparsemap(100 * draw_scores("normal", 8, (6,), seed=0), Counted())
    assert post.sizes.tolist() == [1] * 8
    assert asked == int(post.calls.sum()) + 1


def test_the_conformance_kit_finds_a_minimiser() -> None:
    class Kit(StructureConformance):
        structure = WorstSeats()
        sizes = (3, 6)

        @staticmethod
        def shape(n: int) -> tuple[int, ...]:
            return (n,)

    with pytest.raises(AssertionError):
        Kit().test_oracle_finds_the_best()
