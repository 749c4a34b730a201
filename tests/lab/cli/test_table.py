import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sparsewood.lab.cli import main
from sparsewood.lab.cli.table import default_rows
from sparsewood.lab.data.sources import ListOps, Sst
from sparsewood.lab.run import RunConfig
from sparsewood.lab.study.paper_figures import ROWS
from sparsewood.lab.tasks import ModelConfig


def test_a_table_and_its_files(
    listops: list[str], prints: Callable[..., str], tmp_path: Path
) -> None:
    out = tmp_path / "table"
    command = ("table", "listops", *listops, "--out", out, "--seeds", "0", "1", "--lrs", "0.1")
    rows = ("--estimators", "left-to-right", "sparsemap")
    text = prints(*command, *rows)
    assert "left-to-right" in text
    assert "±" in text
    assert "certified" in text
    assert (out / "report.html").is_file()
    assert "| sparsemap |" in (out / "table.md").read_text()
    summary = json.loads((out / "table.json").read_text())
    assert summary["rows"]["sparsemap:max_active=10"]["seeds"] == [0, 1]
    assert prints(*command, *rows) == text  # what is trained is not trained again


def test_readers_are_rows(listops: list[str], prints: Callable[..., str], tmp_path: Path) -> None:
    rows = ("flat", "bow", "lstm", "chart:choice=straight-through", "mean")
    out = ("--out", tmp_path / "table")
    text = prints("table", "listops", *listops, *out, "--estimators", *rows)
    assert all(row.partition(":")[0] in text for row in rows)
    summary = json.loads((tmp_path / "table" / "table.json").read_text())
    assert "support" not in summary["rows"]["mean"]["validation"]
    assert "right_branching" in summary["rows"]["chart:choice=straight-through"]["validation"]
    page = (tmp_path / "table" / "report.html").read_text()
    assert "right-branching one has" in page
    assert "<svg" in page


@pytest.mark.full
def test_two_workers(listops: list[str], prints: Callable[..., str], tmp_path: Path) -> None:
    options = ("--estimators", "flat", "given", "--workers", "2", "--out", tmp_path)
    text = prints("table", "listops", *listops, *options)
    assert "flat" in text
    assert "given" in text


def test_bad_data_is_noticed_before_anything_is_trained(
    fails: Callable[..., str], tmp_path: Path
) -> None:
    out = tmp_path / "table"
    assert "absent" in fails("table", "sst", "--data", tmp_path / "absent", "--out", out)
    (tmp_path / "t.tsv").write_text("a\tone two\nb\tthree\n" * 10)
    options = ("--train", tmp_path / "t.tsv", "--estimators", "flat", "given", "--out", out)
    assert "the estimator given needs heads" in fails("table", "classify", *options)
    assert not out.exists()


def test_failures_are_told_at_the_end(
    listops: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--estimators", "flat", "--lrs", "0.1", "1e38", "--out", str(tmp_path)]
    assert main(["table", "listops", *listops, *options]) == 2
    out, error = capsys.readouterr()
    assert "flat" in out
    assert error.splitlines()[-1].startswith("sparsewood: 1 of 2 runs failed: ")


def test_given_trees_where_there_are_heads() -> None:
    assert default_rows(RunConfig(ListOps())) == tuple(ROWS)
    assert "given" not in default_rows(RunConfig(Sst(Path("sst"))))
    assert "given" in default_rows(RunConfig(Sst(Path("sst"), heads=(Path("heads"),))))
    few = default_rows(RunConfig(ListOps(), ModelConfig("sparsemap:max_active=5")))
    assert few == (*list(ROWS)[:-1], "sparsemap:max_active=5")


def test_without_a_test_validation_is_shown(prints: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("x\ta b\ny\tc d\n" * 10)
    options = "--hidden 4 --max-epochs 1 --device cpu --estimators flat".split()
    train = ("--train", tmp_path / "a.tsv", "--out", tmp_path / "table")
    text = prints("table", "classify", *train, *options)
    assert "classify, validation" in text
    assert "accuracy" in text


def test_options_are_checked_before_anything_is_said(fails: Callable[..., str]) -> None:
    assert fails("table", "listops", "--lrs") == "--lrs: expected at least one value"
    assert fails("table", "listops", "--lrs", "0").startswith("training.lr: expected a positive")


def test_the_rate_is_that_of_the_protocol(prints: Callable[..., str]) -> None:
    for more, rate in (((), "(0.001)"), (("--preset", "paper"), "(0.1)")):
        shown = " ".join(prints("table", "listops", *more, "--help").split())
        assert rate in shown.rpartition("--lrs")[2].partition("--seeds")[0]


def test_a_place_that_is_none_leaves_nothing(fails: Callable[..., str], tmp_path: Path) -> None:
    out = ("--out", tmp_path / "new")
    assert "on: expected local, ray, HOST" in fails("table", "listops", *out, "--on", "raay")
    assert "applies to Ray only" in fails("table", "listops", *out, "--cpus-per-run", "2")
    assert not list(tmp_path.iterdir())
