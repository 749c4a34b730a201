"""What a sweep may try: lists, ranges, combinations."""

import pytest

from sparsewood.lab.study.space import Range, grid_of, read_choices, with_options


def test_lists_and_ranges(make_config) -> None:
    base = make_config()
    assert read_choices(base, "training.lr", "log:1e-3:1") == Range("log", 1e-3, 1.0)
    assert read_choices(base, "model.hidden", (4, 8)) == [4, 8]
    with pytest.raises(ValueError, match=r"training\.lr: expected at least one value"):
        read_choices(base, "training.lr", [])


@pytest.mark.parametrize("text", ["log:0:1", "log:1", "uniform:2:1", "even:1:2", "int:a:b"])
def test_ranges_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=f"lr: expected a list of values, or .*; got '{text}'"):
        Range.parse("lr", text)


def test_combinations(make_config) -> None:
    found = grid_of({"training.lr": [0.1, 0.2], "model.hidden": [4]})
    assert found == [
        {"training.lr": 0.1, "model.hidden": 4},
        {"training.lr": 0.2, "model.hidden": 4},
    ]
    assert grid_of({"training.lr": Range("log", 0.1, 1.0), "model.hidden": [4]}) is None
    changed = with_options(make_config(), {"training.lr": 0.2, "model.hidden": 4})
    assert (changed.training.lr, changed.model.hidden) == (0.2, 4)
