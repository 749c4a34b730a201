"""Estimators as rows: short names, and options where two share one."""

from pathlib import Path

from sparsewood.lab.study.rows import folder_name, folder_of, labels, learns, setting, short
from sparsewood.lab.tasks import TASKS


def test_names() -> None:
    assert short("sparsemap:max_active=10") == "sparsemap"
    assert folder_name("sparsemap:max_active=10") == "sparsemap-max_active=10"
    assert folder_name("flat") == "flat"


def test_what_else_tells_rows_apart() -> None:
    task = TASKS["nli"]
    options = {"estimator": "sparsemap:max_active=10"}
    assert task.row(options) == "sparsemap:max_active=10"
    row = task.row({**options, "attention": "softmax", "attention_over": "subtrees"})
    assert row == "sparsemap:max_active=10 + softmax + subtrees"
    assert (short(row), setting(row)) == ("sparsemap + softmax + subtrees", "max_active=10")
    assert learns(row)
    assert not learns("flat + softmax")
    assert short(task.row({**options, "encoder": "hf:tiny"})) == "sparsemap + hf:tiny"
    assert task.variant(task.config("flat", attention="matching")) == "estimator flat + matching"


def test_labels_tell_rows_apart() -> None:
    rows = ["flat", "sparsemap:max_active=10", "top-k:k=5"]
    assert list(labels(rows).values()) == ["flat", "sparsemap", "top-k"]
    rows = ["flat", "top-k:k=2", "top-k:k=5", "flat"]
    assert labels(rows) == {"flat": "flat", "top-k:k=2": "top-k:k=2", "top-k:k=5": "top-k:k=5"}
    free = "sparsemap:max_active=none"  # which the bare name would belie
    assert labels([free]) == {free: free}
    assert labels([free, "sparsemap:max_active=10"])[free] == free


def test_rows_of_earlier_versions(tmp_path: Path) -> None:
    row = TASKS["classify"].row({"estimator": "sparsemap"})
    assert row == "sparsemap:max_active=none"
    assert TASKS["parse"].row({"loss": "sparsemap"}) == "sparsemap"
    assert folder_of(row, tmp_path) == "sparsemap-max_active=none"
    assert folder_of("sparsemap:max_active=10", tmp_path) == "sparsemap-max_active=10"
    (tmp_path / "sparsemap").mkdir()
    assert folder_of(row, tmp_path) == "sparsemap"
    assert folder_of("sparsemap:max_active=10", tmp_path) == "sparsemap-max_active=10"
    assert TASKS["classify"].row({"estimator": "left_to_right"}) == "left-to-right"
    assert folder_of("left-to-right", tmp_path) == "left-to-right"
    (tmp_path / "left_to_right").mkdir()
    assert folder_of("left-to-right", tmp_path) == "left_to_right"


def test_what_learns() -> None:
    assert learns("sparsemap:max_active=10")
    assert not learns("flat")
    assert learns("chart:choice=gumbel")
    assert not learns("bow")
    assert not learns("of another version")
