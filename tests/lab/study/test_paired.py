"""Rows compared: what is resampled, its calibration, and which runs pair up."""

import json
import random
from pathlib import Path

import numpy
import pytest
from numpy.typing import NDArray

from sparsewood.lab.run import Run
from sparsewood.lab.run.outcomes import Outcomes, write_outcomes
from sparsewood.lab.study import paired
from sparsewood.lab.study.paired import Comparison, compare, compare_runs, how
from sparsewood.lab.tasks import Measure

Table = NDArray[numpy.float64]


def answers(
    seed: int, seeds: int, n: int, *, gain: float = 0.0, spread: float = 0.3
) -> list[Table]:
    """Right and wrong answers of two rows to items that are easy or hard for both.

    Args:
        seed: of what is drawn.
        seeds, n: the shape of either.
        gain: of the first row, on the scale of the items' difficulty.
    """
    g = numpy.random.default_rng(seed)
    ease = g.normal(1, 1, n)
    rows = []
    for more in (gain, 0.0):
        own = g.normal(more, 0.5, n) + g.normal(0, 0.3, (seeds, 1))
        rows.append(100.0 * (ease + own + g.normal(0, 0.5, (seeds, n)) > 0))
    return rows


def slowly(ours: Table, theirs: Table, draws: int) -> tuple[float, float, float]:
    """The interval and p, drawn one by one."""
    g = random.Random(1)
    seeds, n = ours.shape
    drawn = []
    for _ in range(draws):
        rows = g.choices(range(seeds), k=seeds)
        items = g.choices(range(n), k=n)
        a = sum(ours[s, i] for s in rows for i in items) / (seeds * n)
        b = sum(theirs[s, i] for s in rows for i in items) / (seeds * n)
        drawn.append(a - b)
    low, high = numpy.percentile(drawn, [2.5, 97.5])
    other = min(sum(d <= 0 for d in drawn), sum(d >= 0 for d in drawn))
    return float(low), float(high), 2 * (other + 1) / (draws + 1)


def test_it_agrees_with_one_draw_at_a_time() -> None:
    ours, theirs = answers(1, 3, 60, gain=0.2)
    found = compare(ours, theirs)
    low, high, p = slowly(ours, theirs, 10_000)
    assert found.difference == pytest.approx(ours.mean() - theirs.mean())
    assert found.low == pytest.approx(low, abs=1.5)  # of some 40
    assert found.high == pytest.approx(high, abs=1.5)
    assert 0.05 < p < 0.5
    assert found.p == pytest.approx(p, abs=0.04)
    assert (found.seeds, found.items) == ours.shape


@pytest.mark.full
def test_it_is_calibrated() -> None:
    """Of rows that differ by chance alone about one in twenty differs significantly."""
    found = [compare(*answers(seed, 5, 150)).p < 0.05 for seed in range(300)]
    assert 0.01 <= numpy.mean(found) <= 0.12


def test_items_are_shared_by_all_seeds() -> None:
    """Ten seeds that answer alike say no more of the items than one does."""
    ours, theirs = answers(3, 1, 200)
    one = compare(ours, theirs)
    ten = compare(ours.repeat(10, 0), theirs.repeat(10, 0))
    assert ten.low == pytest.approx(one.low, abs=0.5)
    assert ten.high == pytest.approx(one.high, abs=0.5)
    assert (one.seeds, ten.seeds) == (1, 10)


def test_seeds_vary_too() -> None:
    gains = numpy.array([[4.0], [1.0], [-2.0]]).repeat(50, 1)  # all items alike
    found = compare(gains, 0 * gains)
    assert (found.difference, found.low, found.high) == (1, -2, 4)
    assert compare(gains[:1], 0 * gains[:1]).low == 4


def test_a_plain_difference_is_found() -> None:
    ours, theirs = answers(0, 5, 500, gain=1.0)
    found = compare(ours, theirs)
    assert found.p == pytest.approx(2 / 10_001)
    assert 0 < found.low < found.difference < found.high


def test_it_is_symmetric_and_the_same_every_time() -> None:
    ours, theirs = answers(1, 4, 100, gain=0.3)
    found, swapped = compare(ours, theirs), compare(theirs, ours)
    assert found == compare(ours.copy(), theirs.copy())
    assert swapped.difference == -found.difference
    assert (swapped.low, swapped.high) == pytest.approx((-found.high, -found.low))
    assert swapped.p == found.p


def test_blocks_of_draws_leave_no_trace(monkeypatch) -> None:
    ours, theirs = answers(1, 4, 100, gain=0.3)
    whole = compare(ours, theirs)
    monkeypatch.setattr(paired, "_AT_ONCE", 70)  # fewer than one replicate draws
    parts = compare(ours, theirs)
    assert parts.p == pytest.approx(whole.p, abs=0.03)
    assert parts.low == pytest.approx(whole.low, abs=0.5)


def test_equal_rows_do_not_differ() -> None:
    ours, _ = answers(0, 3, 50)
    assert compare(ours, ours) == Comparison(0, 0, 0, 1, 3, 50)


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match=r"\(seeds, items\) twice, got \(2, 3\) and \(2, 4\)"):
        compare(numpy.zeros((2, 3)), numpy.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"got \(0, 3\)"):
        compare(numpy.zeros((0, 3)), numpy.zeros((0, 3)))


def test_in_words() -> None:
    one, three = (Comparison(-0.5, -1.25, 0.333, 0.2, seeds, 9) for seeds in (1, 3))
    assert one.text(Measure("a", "a", 2)) == "-0.50 [-1.25, +0.33]"
    assert how([three]).endswith("bootstrap over seeds and test items")
    assert how([three, one]).endswith("items (with one seed, over test items alone)")
    alone = "over test items alone (one seed; variation between seeds not assessed)"
    assert how([one]).endswith(alone)


def _run(folder: Path, seed: int, splits: dict[str, Outcomes]) -> Run:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"training": {"seed": seed}}))
    (folder / "result.json").write_text("{}")
    if splits:
        write_outcomes(folder, splits)
    return Run(folder)


def _kept(items: str, *values: float) -> Outcomes:
    return Outcomes(items, numpy.array(values))


def test_runs_are_paired_by_seed_and_items(tmp_path: Path) -> None:
    validation = {"validation": _kept("v", 0, 100)}
    ours = [
        _run(tmp_path / "a0", 0, {**validation, "test": _kept("t", 100, 100, 0)}),
        _run(tmp_path / "a1", 1, {**validation, "test": _kept("t", 100, 100, 100)}),
        _run(tmp_path / "a2", 2, {**validation, "test": _kept("t", 0, 0, 0)}),
        _run(tmp_path / "a3", 3, {**validation, "test": _kept("other", 0, 0, 0)}),
        _run(tmp_path / "a4", 4, {}),
    ]
    theirs = [
        _run(tmp_path / "b1", 1, {**validation, "test": _kept("t", 0, 100, 100)}),
        _run(tmp_path / "b0", 0, {**validation, "test": _kept("t", 100, 0, 0)}),
        _run(tmp_path / "b3", 3, {**validation, "test": _kept("t", 100, 100, 100)}),
        _run(tmp_path / "b4", 4, {**validation, "test": _kept("t", 100, 100, 100)}),
    ]
    found = compare_runs(ours, theirs)
    assert found.keys() == {"test"}
    assert (found["test"].seeds, found["test"].items) == (2, 3)
    assert found["test"].difference == pytest.approx(200 / 6)
    assert compare_runs(ours[4:], theirs) == {}
    assert compare_runs(ours, []) == {}


def test_without_a_test_validation_is_compared(tmp_path: Path) -> None:
    ours, theirs = (
        _run(tmp_path / name, 0, {"validation": _kept("v", 0.5, value)})
        for name, value in (("a", 0.5), ("b", 0.7))
    )
    assert compare_runs([ours], [theirs])["validation"].difference == pytest.approx(-0.1)
