"""Tables: learning rates chosen on validation, workers, failures, going on."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from sparsewood.estimators import Estimator, Problem, TopK
from sparsewood.estimators.names import NAMES
from sparsewood.lab.jobs import local_pool
from sparsewood.lab.report import write_report
from sparsewood.lab.run import Progress, Run, RunConfig, TrainingConfig
from sparsewood.lab.study.grid import Grid
from sparsewood.lab.study.table import table_search, table_summary, train_table
from sparsewood.posterior import Posterior

LRS, SEEDS = (0.1, 0.5), (0, 1)


def _tree(folder: Path) -> set[str]:
    return {path.parent.relative_to(folder).as_posix() for path in folder.rglob("result.json")}


@pytest.mark.full
def test_two_workers_and_one_give_the_same(make_config, tmp_path: Path) -> None:
    """A run that fails is reported and stops no other."""
    config = make_config(max_epochs=2, threads=None)
    lrs = (1e38, 1e-12)
    one, two = (
        train_table(["flat"], config, lrs, SEEDS, tmp_path / str(n), workers=n, progress=Progress())
        for n in (1, 2)
    )
    assert one["failures"].keys() == two["failures"].keys() == {"flat/lr-1e+38/seed-0"}
    for summary in (one, two):
        assert "loss is not finite" in summary["failures"]["flat/lr-1e+38/seed-0"]
    mine, theirs = one["rows"]["flat"], two["rows"]["flat"]
    assert (mine["lr"], mine["seeds"]) == (1e-12, [0, 1])
    for name in ("lr", "by_lr", "seeds", "validation", "tests", "temperatures"):
        assert theirs[name] == mine[name]
    assert _tree(tmp_path / "2") == {"flat/lr-1e-12/seed-0", "flat/lr-1e-12/seed-1"}
    assert json.loads((tmp_path / "2" / "table.json").read_text()) == two
    assert Run(tmp_path / "2/flat/lr-1e-12/seed-0").config.training.threads == 1


def test_a_table_goes_on(make_config, tmp_path: Path, monkeypatch) -> None:
    config = make_config(max_epochs=1)
    trained: list[str] = []
    train = local_pool.train

    def recorded(config: RunConfig, folder: Path, **named: Any) -> dict[str, Any]:
        trained.append(folder.relative_to(tmp_path).as_posix())
        if len(trained) == 3:
            raise KeyboardInterrupt
        return train(config, folder, **named)

    monkeypatch.setattr(local_pool, "train", recorded)

    def table() -> dict[str, Any]:
        return train_table(["flat", "sparsemap"], config, LRS, (0,), tmp_path, progress=Progress())

    with pytest.raises(KeyboardInterrupt):
        table()
    capped = "sparsemap-max_active=10"
    assert trained == [*(f"{capped}/lr-{lr}/seed-0" for lr in LRS), "flat/lr-0.1/seed-0"]
    before = (tmp_path / capped / "lr-0.5/seed-0/result.json").stat().st_mtime_ns
    assert table()["rows"].keys() == {"flat", "sparsemap:max_active=10"}
    assert (tmp_path / capped / "lr-0.5/seed-0/result.json").stat().st_mtime_ns == before


def test_a_row_without_a_finished_run(make_config, tmp_path: Path) -> None:
    config = make_config(max_epochs=1)
    summary = train_table(["flat"], config, (1e38,), (0, 1), tmp_path, progress=Progress())
    assert summary["rows"] == {}


def _fake(folder: Path, config: RunConfig, **validation: float) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config.to_json()))
    record = {"seconds": 2.0, "sentences_per_second": 20.0}
    (folder / "metrics.jsonl").write_text(json.dumps(record) + "\n")
    result = {
        "criterion": next(iter(validation)),
        "validation": {**validation, "histogram": {"1": 3}},
        "tests": {"test": {**validation, "histogram": {"1": 2, "10": 3}, "unconverged": 3.0}},
        "temperature": 1.0,
        "temperature_curve": {},
        "best_epoch": 1,
        "epochs": 4,
    }
    (folder / "result.json").write_text(json.dumps(result))


def test_summary_of_finished_runs(make_config, tmp_path: Path) -> None:
    config = make_config("flat")
    for lr, seed, accuracy in ((0.1, 0, 50.0), (1.0, 0, 60.0), (1.0, 1, 70.0), (1.0, 2, 80.0)):
        one = replace(config, training=TrainingConfig(lr=lr, seed=seed))
        _fake(tmp_path / f"flat/lr-{lr:g}/seed-{seed}", one, accuracy=accuracy)
    rates, seeds = (0.1, 1.0, 10.0), (0, 1, 2, 3)
    search = table_search(["flat", "sparsemap"], config, rates, seeds, tmp_path)
    row = table_summary(search)["rows"]["flat"]
    assert row["lr"] == 1.0
    assert row["by_lr"] == {"0.1": 50.0, "1": 60.0}
    assert row["seeds"] == [0, 1, 2]
    accuracy = {"mean": 70.0, "std": 10.0, "values": [60.0, 70.0, 80.0]}
    assert row["validation"] == {"accuracy": accuracy}
    assert row["tests"]["test"]["accuracy"] == accuracy
    assert row["certified"] == {"certified": 6, "sentences": 15, "capped": None}
    assert (row["seconds_per_epoch"], row["sentences_per_second"], row["epochs"]) == (2, 20, 4)


def test_a_table_takes_further_rates_and_seeds(make_config, tmp_path: Path) -> None:
    config = make_config(max_epochs=1)

    def table(lrs: tuple[float, ...], seeds: tuple[int, ...]) -> dict[str, Any]:
        return train_table(["flat"], config, lrs, seeds, tmp_path, progress=Progress())

    assert table((1e-9,), (0, 0))["rows"]["flat"]["seeds"] == [0]
    row = table((1e-9, 0.5), (0, 1))["rows"]["flat"]
    assert row["by_lr"].keys() == {"1e-09", "0.5"}
    assert row["lr"] == float(max(row["by_lr"], key=row["by_lr"].__getitem__))
    assert row["seeds"] == [0, 1]


def test_rows_are_compared_with_flat_trees(make_config, tmp_path: Path) -> None:
    rows = ["flat", "left-to-right", "sparsemap:max_active=10"]
    config = make_config(max_epochs=1)
    summary = train_table(rows, config, (0.5,), SEEDS, tmp_path, progress=Progress())["rows"]
    assert summary["flat"]["against"] == {}
    for row in rows[1:]:
        found = summary[row]["against"]["test"]
        means = [summary[name]["tests"]["test"]["accuracy"]["mean"] for name in (row, "flat")]
        assert found["difference"] == pytest.approx(means[0] - means[1])
        assert found["low"] <= found["difference"] <= found["high"]
        assert (found["seeds"], found["items"]) == (2, 12)
    for path in tmp_path.glob("flat/*/*/outcomes.json"):  # of an older version
        path.unlink()
    found = table_summary(table_search(rows, config, (0.5,), SEEDS, tmp_path))["rows"]
    assert [found[row]["against"] for row in rows] == [{}, {}, {}]


def test_runs_of_another_version_are_named(make_config, tmp_path: Path) -> None:
    run = tmp_path / "flat/lr-0.1/seed-0"
    _fake(run, make_config("flat"), accuracy=50.0)
    config = json.loads((run / "config.json").read_text())
    config["model"] |= {"trees": "latent", "max_active": 10}
    (run / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="config.json: model: unknown max_active, trees; expected"):
        train_table(["flat"], make_config(), (0.1,), (0,), tmp_path)


def test_of_equally_good_rates_the_lowest_is_taken(make_config, tmp_path: Path) -> None:
    for lr in LRS:
        one = replace(make_config("flat"), training=TrainingConfig(lr=lr))
        _fake(tmp_path / f"flat/lr-{lr:g}/seed-0", one, accuracy=50.0)
    search = table_search(["flat"], make_config(), LRS[::-1], (0,), tmp_path)
    assert table_summary(search)["rows"]["flat"]["lr"] == min(LRS)


def test_runs_of_another_configuration_make_no_table(make_config, tmp_path: Path) -> None:
    train_table(["flat"], make_config(max_epochs=1), (0.1,), (0,), tmp_path, progress=Progress())
    other = make_config(max_epochs=1, batch=4)
    with pytest.raises(ValueError, match="seed-0: .*another configuration: training.batch: 8 -> 4"):
        train_table(["sparsemap", "flat"], other, LRS, (0,), tmp_path, progress=Progress())
    assert [path.name for path in tmp_path.iterdir()] == ["flat", "table.json"]


def test_a_table_of_an_earlier_version_goes_on(make_config, tmp_path: Path) -> None:
    """Its row `sparsemap` had no cap."""
    config, free = make_config(max_epochs=1), "sparsemap:max_active=none"
    train_table([free], config, (0.1,), (0,), tmp_path, progress=Progress())
    row = tmp_path / "sparsemap"
    (tmp_path / "sparsemap-max_active=none").rename(row)
    path = row / "lr-0.1/seed-0/config.json"
    path.write_text(path.read_text().replace(free, "sparsemap"))
    before = {p: p.stat().st_mtime_ns for p in row.rglob("result.json")}
    rows = ["sparsemap", free]
    summary = train_table(rows, config, (0.1,), (0,), tmp_path, progress=Progress())
    assert {p: p.stat().st_mtime_ns for p in row.rglob("result.json")} == before
    assert list(summary["rows"]) == ["sparsemap:max_active=10", free]
    assert {p.name for p in tmp_path.iterdir() if p.is_dir()} == {
        "sparsemap",
        "sparsemap-max_active=10",
    }
    markdown = Grid.of(summary).markdown()
    assert "| sparsemap |" in markdown
    assert f"| {free} |" in markdown


@dataclass(frozen=True)
class Best(Estimator):
    """The best tree: an estimator that nothing in the lab knows of."""

    def estimate(self, problem: Problem) -> Posterior:
        return TopK(1).estimate(problem)


def test_a_new_estimator_is_a_row_like_others(make_config, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(NAMES, "best", (Best, {}))
    rows = ["flat", "best", "top-k:k=2"]
    config = make_config(max_epochs=1)
    summary = train_table(rows, config, (0.1,), (0,), tmp_path, progress=Progress())
    assert list(summary["rows"]) == rows
    assert summary["rows"]["best"]["temperatures"] == [None]
    assert summary["rows"]["best"]["certified"] is None
    assert "| best |" in Grid.of(summary).markdown()
    page = write_report(sorted(tmp_path.glob("*/*/*")), tmp_path / "report.html").read_text()
    assert "1 run" not in page
    assert all(
        re.search(rf"</svg>{name}<small>[a-z ,]*1 seed", page) for name in ("flat", "best", "top-k")
    )


def test_wrong_tables(make_config, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one estimator"):
        train_table([], make_config(), LRS, SEEDS, tmp_path)
    with pytest.raises(ValueError, match="at least one learning rate"):
        train_table(["flat"], make_config(), (), SEEDS, tmp_path)
    with pytest.raises(ValueError, match="workers: expected at least 1"):
        train_table(["flat"], make_config(), LRS, SEEDS, tmp_path, workers=0)
