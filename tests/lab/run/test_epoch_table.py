"""The table of epochs: one line each, whatever the width."""

from typing import Any

import pytest

from sparsewood.lab.run.epoch_table import EpochTable
from sparsewood.lab.tasks.measures import SUPPORT

RECORD: dict[str, Any] = {
    "epoch": 3,
    "seconds": 12.34,
    "sentences_per_second": 561.2,
    "lr": 0.0009,
    "best": True,
    "train": {"loss": 0.5, "accuracy": 80.0, "support": 2.5, "single": 40.0},
    "validation": {
        "loss": 0.4,
        "accuracy": 82.5,
        "macro_f1": 81.0,
        "support": 1.5,
        "single": 40.0,
        "unconverged": 1.0,
        "capped": 1.0,
        "histogram": {"1": 3, "10": 1},
    },
}


def test_a_terminal_of_80_characters() -> None:
    table = EpochTable(RECORD, 80)
    assert table.head() == [
        "       train             validation",
        "                                           trees  certi-   s per  at most",
        "epoch    loss  accuracy    loss  accuracy   kept    fied   epoch     left",
    ]
    assert table.row(RECORD, "1:12:00") == (
        "    3  0.5000     80.00  0.4000     82.50   1.50    75 %    12.3  1:12:00  *"
    )
    assert table.row({**RECORD, "best": False}).endswith("12.3")


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 140])
def test_every_line_fits(width: int) -> None:
    table = EpochTable(RECORD, width)
    lines = [*table.head(), table.row(RECORD, "11:12:00")]
    assert max(map(len, lines)) <= width
    assert "3" in lines[-1]
    assert lines[-1].endswith("*")


def test_a_wide_terminal_has_all_columns() -> None:
    head = " ".join(EpochTable(RECORD, 140).head())
    assert " lr " in head
    assert "tree %" in head
    assert "macro" not in head


def test_stages_and_models_without_trees() -> None:
    plain = {"loss": 0.4, "accuracy": 82.5}
    record = {**RECORD, "stage": 5, "train": plain, "validation": plain}
    table = EpochTable(record, 100)
    assert table.row(record).split()[:2] == ["3", "(≤5)"]
    assert table.row({**RECORD, "validation": plain}).split()[0] == "3"
    assert SUPPORT.label.split()[0] not in " ".join(table.head())


def test_other_tasks_have_their_own_measures() -> None:
    ranks = {"loss": 4.2, "median_rank": 120.0, "accuracy_10": 31.0, "accuracy_100": 60.0}
    record = {**RECORD, "train": {"loss": 4.0}, "validation": ranks}
    row = EpochTable(record, 80).row(record).split()
    assert row[:5] == ["3", "4.0000", "4.2000", "120.0", "31.0"]
