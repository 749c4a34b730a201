"""The example near the top of a report."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparsewood.lab.report._example import shown_example
from sparsewood.lab.report._runs import ReportedRun

WriteRun = Callable[..., Path]


def example(heads: list[int], label: str, **side: Any) -> dict[str, Any]:
    words = [f"{label}{i}" for i in range(len(heads))]
    trees = [{"heads": heads, "weight": 0.9}, {"heads": [0] * len(heads), "weight": 0.1}]
    told = {"words": words, "given": heads, "trees": trees, **side}
    return {"label": label, "prediction": {"a": 0.8, "b": 0.2}, "sides": [told]}


def shown(run: Path, *examples: dict[str, Any]) -> str:
    (run / "gallery.json").write_text(json.dumps(examples))
    return shown_example([ReportedRun(run)])


def test_it_is_right_short_and_deep(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", epochs=1)
    flat, deep = [0, 1, 1, 1, 1, 1], [0, 1, 2, 3, 3, 3]
    wrong, long = example([0, 1, 2, 3, 4, 5], "b"), example([0, *range(1, 30)], "a")
    page = shown(run, wrong, long, example(flat, "a"), example(deep, "a"))
    assert page.count("<svg") == 1  # the likeliest tree alone
    assert page.index("label <b>a</b>") > 0
    assert "Its most probable tree of 2, with probability 90.0%. All heads as given." in page
    assert "a5" in page
    assert "a6" not in page
    assert "a3 → a2" in page or "a2 → a3" in page  # the description of the deep one


def test_a_pair_has_two_trees(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", kind="sick", epochs=1)
    one = example([0, 1, 1, 1, 1, 1], "a")
    one["sides"] *= 2
    page = shown(run, one)
    assert page.count("<svg") == 2
    assert page.index("premise") < page.index("hypothesis")


def test_without_trees_there_is_none(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", epochs=1)
    assert shown(run, example([0, 1], "a", trees=[])) == ""
    assert shown(run) == ""
