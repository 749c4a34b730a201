import io
from collections.abc import Sequence

import pytest
from rich.console import Console

from sparsewood.lab.cli._results import (
    advice,
    confusion_table,
    remarks,
    results_table,
    splits_table,
)
from sparsewood.lab.tasks import TASKS
from sparsewood.lab.tasks.measures import BINARY_TREES, DEPENDENCY_TREES, Measure


def _shown(table: object, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_columns_are_the_metrics_that_occur() -> None:
    table = splits_table({"a": {"loss": 1.0, "median_rank": 3.0}, "b": {"loss": 2.0}})
    assert [column.header for column in table.columns] == ["split", "loss", "median\nrank"]
    assert list(table.columns[2].cells) == ["3.0", ""]


def test_the_title_says_what_was_chosen() -> None:
    result = {
        "best_epoch": 2,
        "epochs": 5,
        "temperature": 0.5,
        "temperature_curve": {"0.5": 1.0},
        "validation": {"loss": 1.0},
        "tests": {"test": {"loss": 2.0}},
    }
    table = results_table(result)
    assert table.title == "best epoch 2 of 5, temperature 0.5"
    assert list(table.columns[0].cells) == ["validation", "test"]
    assert results_table({**result, "temperature_curve": {}}).title == "best epoch 2 of 5"


def test_certificates_and_unknown_words() -> None:
    trees = {"unconverged": 8.0, "capped": 7.0, "histogram": {"3": 1, "10": 1200}}
    splits = {"validation": trees, "a": {**trees, "unknown": 1.26}, "b": {"loss": 1.0}}
    certified = "certified 1,193 of 1,201, 7 capped, 1 stalled"
    assert remarks(splits) == [
        f"validation: {certified}",
        f"a: {certified}; unknown words 1.3 %",
    ]


def test_what_looks_like_a_failure_is_explained_once() -> None:
    trees = {"unconverged": 8.0, "capped": 7.0, "histogram": {"3": 1, "10": 1200}}
    fine = {**trees, "capped": 0.0, "unknown": 9.9}
    assert advice({"validation": fine, "test": {"loss": 1.0}}) == []
    (capped,) = advice({"validation": trees, "test": trees})
    assert "need more trees than max_active allows" in capped
    assert "sparsemap:max_support=10" in capped
    assert "sparsemap:max_active=none" in capped
    (words,) = advice({"validation": fine, "test": {"unknown": 10.0}})
    assert words.startswith("unknown words: 10 % of test; the model knows only words of the train")
    assert "--vectors FILE" in words
    (words,) = advice({"validation": {"unknown": 20.0}, "test": fine}, "glove.txt")
    assert words.startswith("unknown words: 20 % of validation; the model has no vectors for them ")
    assert "glove.txt" in words


@pytest.mark.parametrize(
    ("others", "widest"),
    [(BINARY_TREES, "attachment_without_brackets"), (DEPENDENCY_TREES, "right_branching")],
)
def test_all_metrics_of_a_classifier_fit_a_terminal(others: Sequence[Measure], widest: str) -> None:
    names = [m.name for m in TASKS["classify"].metrics.measures if m not in others]
    assert widest in names
    lines = _shown(splits_table({"validation": dict.fromkeys(names, 99.999)}))
    assert not any("…" in line for line in lines)
    assert any("validation" in line for line in lines)


def test_a_confusion_matrix() -> None:
    long = "a_rather_long_name_indeed"
    confusion = {"[no]": {"[no]": 5, long: 2}, long: {"x": 1}}
    lines = _shown(confusion_table("test", confusion))
    assert lines[0] == "test, examples"
    assert lines[2].split()[2:] == ["predicted", "[no]", "a_rather_long_nam…", "x"]
    assert [line.split()[-3:] for line in lines[4:7]] == [
        ["5", "2", "·"],
        ["·", "·", "1"],
        ["·", "·", "·"],
    ]


def test_of_many_labels_the_commonest_mistakes() -> None:
    confusion = {f"l{i}": {f"l{i}": 9, f"l{i + 1}": i} for i in range(1, 30)}
    lines = _shown(confusion_table("test", confusion))
    assert lines[0] == "test, most frequent mistakes among 30 labels"
    assert lines[4].split() == ["l29", "l30", "29"]
    assert len(lines) == 15
    assert confusion_table("test", {f"l{i}": {f"l{i}": 9} for i in range(30)}) is None
