"""Numbers that change from epoch to epoch: their values, and what is refused."""

import pytest

from sparsewood.lab.run.anneal import Annealing, annealings


def test_values_go_evenly_and_stay() -> None:
    (cooling,) = annealings(["temperature=4:1"], "sparsemap:temperature=2,max_active=5")
    assert [cooling.at(epoch, 3) for epoch in range(6)] == [4, 3, 2, 1, 1, 1]
    (noise, more) = annealings(["noise=1:0", "max_active=2:10"], "sparsemap")
    assert [noise.at(epoch, 2) for epoch in range(4)] == [1, 0.5, 0, 0]
    values = [more.at(epoch, 3) for epoch in range(5)]
    assert values == [2, 5, 7, 10, 10]
    assert all(type(value) is int for value in values)


def test_options_that_an_estimator_needs_are_kept() -> None:
    assert annealings(["temperature=2:1"], "topk:k=5") == [Annealing("temperature", 2.0, 1.0)]
    assert annealings(["k=2:9"], "topk:k=5") == [Annealing("k", 2, 9)]


def test_the_temperature_of_a_chart() -> None:
    found = annealings(["temperature=1:0.1"], "chart:choice=gumbel")
    assert found == [Annealing("temperature", 1.0, 0.1)]
    with pytest.raises(ValueError, match="estimator chart: the options are input, choice"):
        annealings(["noise=1:0"], "chart")


@pytest.mark.parametrize("estimator", ["flat", "given", "mean", "lstm"])
def test_fixed_trees_have_nothing_to_anneal(estimator: str) -> None:
    assert annealings(["temperature=4:1", "noise=1:0"], estimator) == []
    with pytest.raises(ValueError, match="expected NAME=FROM:TO"):
        annealings(["temperature"], estimator)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["temperature=4"], "expected NAME=FROM:TO, got 'temperature=4'"),
        (["temperature"], "expected NAME=FROM:TO"),
        (["temperature=4:2:1"], "expected NAME=FROM:TO"),
        (["noise=1:0", "noise=2:1"], "expected noise once, got 'noise=2:1'"),
        (["colour=1:2"], "the options are temperature, .*; got 'colour=1'"),
        (["temperature=4:cold"], "temperature: expected a number, got 'cold'"),
        (["temperature=4:0"], "temperature must be positive"),
        (["max_active=2:2.5"], "max_active: expected a whole number or none, got '2.5'"),
        (["max_active=none:10"], "max_active: expected a number of at least 0, got 'none'"),
        (["solver=native:generic"], "solver: expected a number of at least 0, got 'native'"),
        (["noise=-1:0"], "noise: expected a number of at least 0, got '-1'"),
        (["noise=nan:0"], "noise: expected a number of at least 0, got 'nan'"),
        (["noise=loud:0"], "loud"),
    ],
)
def test_what_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=f"^training.anneal: .*{message}"):
        annealings(texts, "sparsemap:max_active=5")
