"""Tables of rows of runs on a terminal."""

from typing import Any

from rich.console import Console

from sparsewood.lab.cli._tables import summary_table
from sparsewood.lab.study.paper_figures import LATENT


def test_the_paper_s_figures_stand_under_ours() -> None:
    spread = {"mean": 85.0, "std": None, "values": [85.0]}
    row = {
        "lr": 0.1,
        "seeds": [0],
        "validation": {"accuracy": spread, "support": spread},
        "tests": {"test": {"accuracy": spread}},
        "seconds_per_epoch": 1.0,
    }
    table = summary_table({"criterion": "accuracy", "rows": {LATENT: row}}, "sst")
    assert list(table.columns[1].cells) == ["85.00\n(84.73)"]


def test_a_table_of_list_operations_fits_a_terminal() -> None:
    summary = _summary("accuracy", {"test": "accuracy"})
    for row in summary["rows"].values():
        row["validation"]["attachment_without_brackets"] = row["validation"]["accuracy"]
    text = "\n".join(_printed(summary, "listops", 80))
    assert "…" not in text
    assert all(bound in text for bound in ("[-0.40,", "+2.00]"))
    assert "without" in text


def test_several_tests_of_one_seed_fit_a_terminal() -> None:
    summary = _summary("accuracy", dict.fromkeys(("test", "33-100", "101-500"), "accuracy"))
    for row in summary["rows"].values():
        row["validation"]["attachment_without_brackets"] = row["validation"]["accuracy"]
        row["seeds"] = [0]
        for test in row["tests"].values():
            test["accuracy"] = test["accuracy"] | {"std": None}
    lines = _printed(summary, "listops", 80)
    assert lines[0].strip() == "listops, test, 33-100, 101-500, 1 seed"
    assert "…" not in "".join(lines)


def _summary(criterion: str, tests: dict[str, str]) -> dict[str, Any]:
    """Flat and latent trees, five seeds, compared; `tests` has a metric of each."""
    spread = {"mean": 85.25, "std": 0.35, "values": [85.25]}
    against = {"difference": 1.25, "low": -0.4, "high": 2.0, "p": 0.1, "seeds": 5, "items": 9}
    row = {
        "lr": 0.0005,
        "seeds": [0, 1, 2, 3, 4],
        "validation": {criterion: spread, "support": spread, "attachment": spread},
        "tests": {test: {metric: spread} for test, metric in tests.items()},
        "seconds_per_epoch": 101.0,
    }
    latent = {**row, "against": dict.fromkeys(tests, against)}
    return {"criterion": criterion, "rows": {"flat": row, "left-to-right": latent}}


def _printed(summary: dict[str, Any], source: str, width: int) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(summary_table(summary, source))
    return captured.get().splitlines()


def test_the_table_fits_a_terminal() -> None:
    lines = _printed(_summary("accuracy", {"test": "accuracy"}), "sst", 100)
    assert "…" not in "".join(lines)
    row = next(i for i, line in enumerate(lines) if line.startswith(" left-to-right"))
    assert lines[row].split()[1:5] == ["85.25", "±", "0.35", "+1.25"]
    assert lines[row + 1].split() == ["(82.10)", "[-0.40,", "+2.00]"]
    assert "…" not in "".join(_printed(_summary("accuracy", {"test": "accuracy"}), "sst", 80))


def test_comparisons_on_several_tests_stand_below() -> None:
    summary = _summary("loss", {"seen": "median_rank", "unseen": "median_rank"})
    text = " ".join(" ".join(_printed(summary, "revdict", 140)).split())
    assert "against flat" not in text.partition("In brackets")[0]
    both = "seen loss against flat +1.2500 [-0.4000, +2.0000]; unseen loss against flat +1.2500"
    assert f"left-to-right: {both}" in text


def _comparison(epochs: tuple[int, int]) -> dict[str, Any]:
    """Flat trees and an estimator with a long name, of so many epochs."""
    summary = _summary("accuracy", {"test": "accuracy"})
    rows = summary["rows"]
    for row in rows.values():
        del row["lr"]
        row["validation"]["attachment_without_brackets"] = row["validation"]["accuracy"]
    cost = {"calls": 21.6, "seconds": 600.0, "training_support": 33.4}
    names = ("flat", "straight-through:backward=marginals")
    tried = [{"estimator": names[1], "parser_lr": 0.0003, "validation": 60.0}]
    own = [{"parser_lr": lr, "tried": tried, **cost} for lr in (None, 0.0003)]
    found = [
        {**row, **more, "estimator": name, "epochs": n}
        for row, more, name, n in zip(rows.values(), own, names, epochs, strict=True)
    ]
    told = {"finding": "flat answers best.", "baseline": "flat"}
    return {**summary, **told, "rows": dict(zip(names, found, strict=True))}


def test_a_comparison_fits_a_terminal() -> None:
    lines = _printed(_comparison((5, 5)), "listops", 80)
    text = "\n".join(lines)
    assert lines[0].strip() == "listops, test, 5 seeds, 5 epochs"
    assert "…" not in text
    row = next(i for i, line in enumerate(lines) if line.startswith(" straight-through"))
    cells = ["straight-through", "85.25", "+1.25", "85.2", "33.40", "21.6", "0.0003", "101.0"]
    assert lines[row].split() == cells
    assert lines[row + 1].startswith("  backward=marginals")
    assert "Trees, calls: per example in training" in text


def test_epochs_of_a_comparison_that_differ_are_a_column() -> None:
    lines = _printed(_comparison((5, 40)), "listops", 100)
    assert lines[0].strip() == "listops, test, 5 seeds"
    assert any("epochs" in line.split() for line in lines)
