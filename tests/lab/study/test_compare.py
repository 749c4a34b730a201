"""Comparisons: rates, then settings, chosen on validation; several seeds; going on."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsewood.estimators import parse
from sparsewood.lab.jobs import local_pool
from sparsewood.lab.run import Progress, Run, RunConfig
from sparsewood.lab.study.compare import (
    comparison_search,
    comparison_summary,
    default_estimators,
    suited,
    train_comparison,
)
from sparsewood.lab.study.grid import comparison_markdown, tries
from sparsewood.lab.study.settings import SETTINGS, start

RATES = (0.01, 0.1)
FAILS = -1.0
MakeConfig = Callable[..., RunConfig]


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """(accuracies by (estimator, parser_lr)) -> the runs that are asked for, none of them trained.

    The accuracy is that of validation and of the test; others have 50.
    """

    def install(accuracies: dict[tuple[str, float | None], float], root: Path) -> list[str]:
        trained: list[str] = []

        def train(config: RunConfig, folder: Path, **_: object) -> dict[str, Any]:
            trained.append(folder.relative_to(root).as_posix())
            accuracy = accuracies.get((config.model.estimator, config.training.parser_lr), 50.0)
            if accuracy == FAILS:
                raise ValueError("no luck")
            return _write(folder, config, accuracy)

        monkeypatch.setattr(local_pool, "train", train)
        return trained

    return install


def _write(folder: Path, config: RunConfig, accuracy: float) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config.to_json()))
    record = {"epoch": 1, "seconds": 2.0, "sentences_per_second": 20.0, "calls": 3.0}
    (folder / "metrics.jsonl").write_text(json.dumps({**record, "train": {"support": 4.0}}) + "\n")
    values = {"accuracy": accuracy, "support": 1.0}
    result = {
        "criterion": "accuracy",
        "validation": values,
        "tests": {"test": values},
        "temperature": None,
        "temperature_curve": {},
        "best_epoch": 1,
        "epochs": 1,
        "seconds": 2.0,
    }
    (folder / "result.json").write_text(json.dumps(result))
    return result


def _compare(estimators: list[str], config: RunConfig, out: Path, **options: Any) -> dict[str, Any]:
    named = {"parser_lrs": RATES, "seeds": (0, 1), **options}
    return train_comparison(estimators, config, folder=out, progress=Progress(), **named)


def test_rates_first_then_settings_at_the_best_rate(
    make_config: MakeConfig, tmp_path: Path, by_hand: Callable[..., list[str]]
) -> None:
    first, other = "spigot:eta=10.0", "spigot:eta=100.0"
    scores = {(first, 0.1): 60.0, (other, 0.1): 70.0, ("flat", None): 40.0}
    trained = by_hand(scores, tmp_path)
    summary = _compare(["flat", "spigot"], make_config(), tmp_path)
    assert trained == [
        "spigot-eta=10.0/parser-lr-0.01/seed-0",
        "spigot-eta=10.0/parser-lr-0.1/seed-0",
        "spigot-eta=100.0/parser-lr-0.1/seed-0",
        "spigot-eta=100.0/parser-lr-0.1/seed-1",
        "flat/no-parser/seed-0",
        "flat/no-parser/seed-1",
    ]
    row = summary["rows"][first]
    assert (row["estimator"], row["parser_lr"]) == (other, 0.1)
    assert row["runs"] == trained[2:4]
    assert row["tests"]["test"]["accuracy"] == {"mean": 70.0, "std": 0.0, "values": [70.0, 70.0]}
    assert (row["calls"], row["training_support"], row["seconds"]) == (3.0, 4.0, 2.0)
    assert [one["validation"] for one in row["tried"]] == [50.0, 60.0, 70.0]
    assert summary["runs"] == 6
    assert summary["baseline"] == "flat"
    assert json.loads((tmp_path / "compare.json").read_text()) == summary
    assert tries(summary) == {
        "flat": "40.00*",
        "spigot": "eta=10.0, parser lr 0.01: 50.00, 0.1: 60.00; eta=100.0: 70.00*",
    }
    markdown = comparison_markdown(summary)
    found = "Among the estimators with learned trees, spigot is best on test: "
    found += "accuracy 70.00 ± 0.00 (2 seeds)."
    assert markdown.startswith(f"{found}\n\n| estimator")
    assert "| 70.00, 70.00 |" in markdown
    assert "| 0.1 | eta=100.0 |" in markdown
    assert markdown.endswith("eta=100.0: 70.00*\n")


def test_estimators_that_draw_get_no_noise_and_their_own_loss(make_config: MakeConfig) -> None:
    model = replace(make_config().model, noise=1.0)
    for name in ("sparsemap", "spigot"):
        assert suited(model, name) == replace(model, estimator=name)
    assert suited(model, "sparsemap").estimator == "sparsemap:max_active=10"
    for name, loss in (("score-function", "expected"), ("imle", "marginal")):
        found = suited(model, name)
        assert (found.noise, found.loss) == (0.0, loss)


def test_settings_that_are_not_tried(
    make_config: MakeConfig, tmp_path: Path, by_hand: Callable[..., list[str]]
) -> None:
    trained = by_hand({}, tmp_path)
    _compare(["spigot:eta=0.5"], make_config(), tmp_path, seeds=(3,))
    assert trained == [f"spigot-eta=0.5/parser-lr-{lr}/seed-3" for lr in RATES]
    trained.clear()
    _compare(["sparsemap", "topk"], make_config(), tmp_path, own_settings=False, seeds=(0,))
    rows = ("sparsemap-max_active=10", "top-k-k=5")  # the bare name is that of all commands
    assert trained == [f"{row}/parser-lr-{lr}/seed-0" for row in rows for lr in RATES]


def test_a_run_that_two_rows_share_is_trained_once(
    make_config: MakeConfig, tmp_path: Path, by_hand: Callable[..., list[str]]
) -> None:
    capped = "sparsemap:max_active=10"
    trained = by_hand({(capped, 0.01): 90.0}, tmp_path)
    rows = ["sparsemap", capped]
    summary = _compare(rows, make_config(), tmp_path)
    assert len(trained) == len(set(trained))
    assert {row["estimator"] for row in summary["rows"].values()} == {capped}
    assert list(summary["rows"]) == [capped]
    assert summary["baseline"] == capped  # without flat trees, the first


def test_each_estimator_is_trained_and_goes_on(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(max_epochs=1, temperatures=False)
    rows = ["flat", "given", "straight-through:backward=marginals"]

    def compared() -> dict[str, Any]:
        return _compare(rows, config, tmp_path, parser_lrs=(0.1,))

    summary = compared()
    assert list(summary["rows"]) == rows
    assert [round(row["calls"], 1) for row in summary["rows"].values()] == [0.0, 0.0, 2.0]
    latent = summary["rows"][rows[2]]
    assert latent["against"]["test"]["seeds"] == 2
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("result.json")}
    assert len(before) == 6
    assert compared() == summary
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("result.json")}
    with pytest.raises(ValueError, match="another configuration: training.batch: 8 -> 4"):
        _compare(rows, make_config(max_epochs=1, temperatures=False, batch=4), tmp_path)


def test_failures_stop_no_other(
    make_config: MakeConfig, tmp_path: Path, by_hand: Callable[..., list[str]]
) -> None:
    by_hand({("imle:lambda_=2.0", 0.01): FAILS}, tmp_path)
    summary = _compare(["imle:lambda_=2"], make_config(), tmp_path, seeds=(0,))
    assert summary["failures"] == {"imle-lambda_=2.0/parser-lr-0.01/seed-0": "no luck"}
    assert summary["rows"]["imle:lambda_=2.0"]["parser_lr"] == 0.1
    assert summary["runs"] == 2


def test_an_estimator_all_of_whose_runs_fail_is_left_out(
    make_config: MakeConfig, tmp_path: Path, by_hand: Callable[..., list[str]]
) -> None:
    trained = by_hand({("imle:lambda_=100.0", lr): FAILS for lr in RATES}, tmp_path)
    summary = _compare(["imle", "given"], make_config(), tmp_path)
    assert list(summary["rows"]) == ["given"]
    assert len(trained) == 4  # neither settings nor other seeds are tried


def test_seconds_are_a_budget(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(max_epochs=50, max_seconds=1e-9, patience=None)
    summary = _compare(["flat"], config, tmp_path, seeds=(0,))
    assert summary["rows"]["flat"]["epochs"] == 1
    assert Run(tmp_path / "flat/no-parser/seed-0").config.training.max_seconds == 1e-9


def test_soft_parts_are_read_by_messages(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(max_epochs=1, temperatures=False)
    summary = _compare(["flat", "relaxed:temperature=2"], config, tmp_path, parser_lrs=(0.1,))
    assert [row["composer"] for row in summary["rows"].values()] == ["tree_lstm", "messages"]
    note = "Composer: relaxed with messages; the others with tree_lstm."
    assert note in comparison_markdown(summary)
    assert set(default_estimators(config)) == {"flat", *SETTINGS}
    ordered = replace(config, model=replace(config.model, composer="ordered"))
    fitting = [parse(start(name)) for name in default_estimators(ordered)]
    assert {one.gradient_through for one in fitting if one.gives_structures} == {"none", "weights"}


def test_nothing_finished(make_config: MakeConfig, tmp_path: Path) -> None:
    search = comparison_search(["flat"], make_config(), RATES, (0,), tmp_path)
    assert comparison_summary(search)["rows"] == {}


def test_wrong_comparisons(make_config: MakeConfig, tmp_path: Path) -> None:
    for rows, rates, seeds in (([], RATES, (0,)), (["flat"], (), (0,)), (["flat"], RATES, ())):
        with pytest.raises(ValueError, match="at least one"):
            train_comparison(rows, make_config(), rates, seeds, tmp_path)
