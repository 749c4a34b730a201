"""`sparsewood compare`: its table, its files, and what it refuses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparsewood.lab.cli import main
from sparsewood.lab.jobs import local_pool
from sparsewood.lab.run import RunConfig

ROWS = ("--estimators", "flat", "straight-through:backward=marginals")


def test_a_comparison_and_its_files(
    listops: list[str], prints: Callable[..., str], tmp_path: Path
) -> None:
    out = tmp_path / "compared"
    options = ("--seeds", "0", "1", "--parser-lrs", "0.01", "--no-temperatures")
    command = ("compare", "listops", *listops, *options, *ROWS, "--out", out)
    text = prints(*command)
    assert text.startswith(f"comparison: {out}\nlistops, test, 2 seeds, 1 epoch")
    assert "Tried on validation" in text
    assert "straight-through is best on test: accuracy" in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines() if str(tmp_path) not in line)
    summary = json.loads((out / "compare.json").read_text())
    assert summary["rows"]["flat"]["seeds"] == [0, 1]
    assert summary["finding"] in (out / "compare.md").read_text()
    page = (out / "report.html").read_text()
    assert summary["finding"] in page
    assert "Validation accuracy by seconds of training" in page
    assert "parser lr 0.01" in page
    assert prints(*command) == text  # what is trained is not trained again


def test_other_tasks(prints: Callable[..., str], tmp_path: Path) -> None:
    """Pairs of sentences from own files, without a test."""
    rows = [f"{'same' if i % 2 else 'other'}\ta red fox\ta {i} hen\n" for i in range(12)]
    (tmp_path / "train.tsv").write_text("".join(rows))
    small = "--hidden 6 --embedding 4 --max-epochs 1 --device cpu --parser-lrs 0.01 --no-settings"
    train = ("--train", tmp_path / "train.tsv", "--out", tmp_path / "out")
    text = prints("compare", "pairs", *train, *small.split(), "--estimators", "flat", "spigot")
    assert "pairs, validation, 1 seed, 1 epoch" in text
    assert "spigot is best on validation: accuracy" in text


def test_a_reverse_dictionary(
    prints: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several tests, and a criterion that is the better the lower it is."""
    monkeypatch.setenv("SPARSEWOOD_CACHE", str(tmp_path / "cache"))
    rows = [f"word{i}\ta thing like {i}\tnoun\n" for i in range(40)]
    (tmp_path / "my_definitions.tsv").write_text("".join(rows))
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"word{i} {i} 1\n" for i in range(40)) + "thing 1 2\n")
    small = "--hidden 6 --max-epochs 1 --device cpu --parser-lrs 0.01 --seeds 0".split()
    data = ("--data", tmp_path, "--vectors", vectors, "--out", tmp_path / "out")
    text = prints("compare", "revdict", *data, *small, "--estimators", "flat", "top-k:k=2")
    assert "top-k is best on" in text
    assert (tmp_path / "out" / "report.html").is_file()


def test_seconds_take_the_place_of_epochs(
    listops: list[str], prints: Callable[..., str], tmp_path: Path
) -> None:
    epochs = listops.index("--max-epochs")
    options = [*listops[:epochs], *listops[epochs + 2 :], "--max-seconds", "1e-9"]
    prints("compare", "listops", *options, "--estimators", "flat", "--out", tmp_path)
    config = json.loads((tmp_path / "flat/no-parser/seed-0/config.json").read_text())
    assert config["training"]["max_seconds"] == 1e-9
    assert config["training"]["max_epochs"] > 1000
    assert config["training"]["patience"] is None


def test_failures_are_told_at_the_end(
    listops: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train = local_pool.train

    def unlucky(config: RunConfig, folder: Path, **named: Any) -> dict[str, Any]:
        if config.training.seed == 1:
            raise ValueError("no luck")
        return train(config, folder, **named)

    monkeypatch.setattr(local_pool, "train", unlucky)
    options = ["--seeds", "0", "1", "--estimators", "flat", "--out", str(tmp_path)]
    assert main(["compare", "listops", *listops, *options]) == 2
    out, error = capsys.readouterr()
    assert "flat" in out
    assert error.splitlines()[-1] == "sparsewood: 1 of 2 runs failed: no luck"


def test_what_is_refused_before_anything_is_written(
    fails: Callable[..., str], tmp_path: Path
) -> None:
    def refused(*options: str) -> str:
        return fails("compare", "listops", "--out", tmp_path / "out", *options)

    ordered = refused("--estimators", "sparsemap", "imle", "--composer", "ordered")
    assert ordered.startswith("model.composer: expected tree_lstm or tree_gru or messages")
    assert "expected one of" in refused("--estimators", "guesswork")
    assert refused("--parser-lrs") == "--parser-lrs: expected at least one value"
    assert refused("--parser-lrs", "0").startswith("training.parser_lr: expected a positive")
    assert refused("--workers", "0") == "--workers: expected at least 1, got 0"
    assert refused("--max-seconds", "-1").startswith("training.max_seconds: expected a positive")
    assert "no option --parser-lr: did you mean" in refused("--parser-lr", "1")
    (tmp_path / "t.tsv").write_text("a\tone two\nb\tthree\n" * 10)
    data = ("--train", tmp_path / "t.tsv", "--out", tmp_path / "out")
    heads = fails("compare", "classify", *data, "--estimators", "flat", "given")
    assert "the estimator given needs heads" in heads
    assert not (tmp_path / "out").exists()


def test_the_budget_is_in_the_help(prints: Callable[..., str]) -> None:
    text = " ".join(prints("compare", "listops", "--help").split())
    for option in (
        "--estimators",
        "--max-epochs",
        "--max-seconds",
        "--parser-lrs",
        "--no-settings",
    ):
        assert option in text
    assert "Compare estimators on one source." in prints("compare", "--help")
