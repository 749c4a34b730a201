"""The temperature of the tests: moved by a gain, not by noise."""

import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import cast

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.lab.data.batches import Batch
from sparsewood.lab.run.temperature import (
    FACTORS,
    TemperatureSearch,
    p_values,
    rejected,
    temperature_search,
)
from sparsewood.lab.tasks import Classes, ReverseDictionary, SentenceModel, TreeModel
from sparsewood.lab.tasks.metrics import Output

N = 545  # sentences of validation


def stub(kind: type[TreeModel], temperature: float) -> TreeModel:
    """A model that has a temperature and is asked for nothing but its outcomes."""
    found = SimpleNamespace(temperature=temperature, task=kind.task)
    if kind is SentenceModel:
        found.target = Classes(["no", "yes"])
    found.outcomes = partial(kind.outcomes, cast(TreeModel, found))
    return cast(TreeModel, found)


def search(
    outcome: Callable[[float], Tensor],
    *,
    loss: bool = False,
    trained: float = 1.0,
    cap: int | None = 1,
) -> TemperatureSearch:
    """Search with a stub whose answers are right, or have losses, as `outcome` of a temperature."""
    kind = ReverseDictionary if loss else SentenceModel  # one goes by the loss
    model = stub(kind, trained)

    def outputs() -> Iterator[tuple[Output, Batch]]:
        assert model.temperature is not None
        said = outcome(model.temperature)
        order = torch.randperm(len(said))  # batches come by length: sentences must be matched
        for rows in order.split(100):
            scores = torch.full((len(rows), 2, 3), 0.1)
            post = sp.sparsemap(scores, sp.DependencyTrees(), max_active=cap)
            right = torch.stack([said[rows], 1 - said[rows]], -1)
            targets = torch.zeros(len(rows), dtype=torch.int64)
            yield Output(said[rows], right, (post,)), Batch((), targets, rows)

    found = temperature_search(model, outputs)
    assert model.temperature == trained
    return found


def answers(seed: int, right: float = 0.8) -> Tensor:
    return (torch.rand(N, generator=torch.Generator().manual_seed(seed)) < right).double()


def test_noise_moves_nothing() -> None:
    base = answers(0)
    moved = 0
    for seed in range(40):
        generator = torch.Generator().manual_seed(seed + 1)
        # Of each other temperature a few answers differ, as many for better as for worse.
        said = {t: torch.rand(N, generator=generator) < 0.03 for t in FACTORS if t != 1}
        found = search(lambda t, said=said: base if t == 1 else (base + said[t]) % 2)
        moved += found.chosen != 1
    assert moved <= 5  # 2 are expected at 5 %, more than 5 come once in a hundred times


def test_three_sentences_of_545_are_noise() -> None:
    base = answers(0)
    better = base.clone()
    better[base.argsort()[:3]] = 1
    found = search(lambda t: better if t == 8 else base)
    assert found.curve[8] == pytest.approx(found.curve[1] + 300 / N)
    assert found.chosen == 1
    assert found.p[8] == 1 / 8
    assert "temperature 1 kept: none of the 16 other temperatures is" in str(found)


def test_a_gain_is_taken() -> None:
    base = answers(0, right=0.7)
    better = base.clone()
    better[base.argsort()[:30]] = 1
    found = search(lambda t: better if t == 0.25 else base)
    assert found.chosen == 0.25
    assert "temperature 0.25 chosen among 16 others" in str(found)


def test_of_equal_gains_the_nearest_is_taken_and_of_two_as_near_the_lower() -> None:
    base = torch.zeros(N)
    assert search(lambda t: base + (t in (8, 0.5))).chosen == 0.5
    assert search(lambda t: base + (t in (4, 0.25))).chosen == 0.25


def test_temperatures_are_multiples_of_that_of_training() -> None:
    found = search(lambda t: torch.zeros(N) + (t == 6), trained=3.0)
    assert found.chosen == 6
    assert list(found.curve) == [3 * factor for factor in FACTORS]


def test_losses_that_agree_to_four_decimals_are_one() -> None:
    base = torch.rand(1000, generator=torch.Generator().manual_seed(0)).double()
    found = search(lambda t: base - 1e-5 * (t == 16), loss=True)  # always better, and for nothing
    assert found.p[16] < 0.001
    assert found.chosen == 1


def test_a_loss_falls() -> None:
    generator = torch.Generator().manual_seed(0)
    base = torch.rand(1000, generator=generator).double()
    gain = 0.02 + 0.1 * torch.randn(1000, generator=generator).double()
    found = search(lambda t: base - gain * (t == 2), loss=True)
    assert found.chosen == 2
    assert search(lambda t: base + gain * (t == 2), loss=True).chosen == 1
    noise = gain - gain.mean()
    assert search(lambda t: base - noise * (t == 2), loss=True).chosen == 1


def test_capped_sentences_are_told() -> None:
    found = search(lambda t: torch.zeros(N))
    assert set(found.capped.values()) == {N}
    assert str(found).endswith(f"; {N} of {N} sentences capped")
    assert found.to_json()["capped"] == {str(t): N for t in FACTORS}
    assert "cap" not in str(search(lambda t: torch.zeros(N), cap=None))


def test_a_failing_search_gives_the_temperature_back() -> None:
    model = stub(SentenceModel, 1.0)

    def outputs() -> Iterator[tuple[Output, Batch]]:
        raise KeyError("stop")

    with pytest.raises(KeyError):
        temperature_search(model, outputs)
    assert model.temperature == 1.0


def enumerated(gains: list[float]) -> float:
    flips = list(itertools.product([-1, 1], repeat=len(gains)))
    sums = [sum(s * abs(g) for s, g in zip(signs, gains, strict=True)) for signs in flips]
    return sum(total >= sum(gains) - 1e-9 for total in sums) / len(flips)


def test_the_exact_test_against_all_signs() -> None:
    rows = [[1, 1, 1, -1, 0, 1], [0, 0, 0, 0, 0, 0], [-1, -1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]]
    found = p_values(100.0 * torch.tensor(rows, dtype=torch.float64))
    assert found == pytest.approx([enumerated([float(g) for g in row]) for row in rows])


def test_drawn_signs_against_all_signs() -> None:
    gains = torch.randn(4, 10, generator=torch.Generator().manual_seed(3)).double() + 0.3
    expected = [enumerated(row) for row in gains.tolist()]
    found = p_values(gains)
    assert found == p_values(gains)
    for p, q in zip(found, expected, strict=True):
        assert abs(p - q) < 5 * math.sqrt(q * (1 - q) / 9999) + 1e-3


def test_holm() -> None:
    assert rejected({1: 0.012, 2: 0.04, 4: 0.013, 8: 0.012}) == [1, 8, 4, 2]
    assert rejected({1: 0.012, 2: 0.06, 4: 0.02, 8: 0.03}) == [1]
    assert rejected({1: 0.02, 2: 0.02, 4: 0.02, 8: 0.02}) == []
