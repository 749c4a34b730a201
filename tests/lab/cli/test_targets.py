"""Numbers and labels from file to report, for sentences and for pairs."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparsewood.lab.cli import main
from sparsewood.lab.tasks.build import MEASURES

Prints = Callable[..., str]
Fails = Callable[..., str]

TINY = "--hidden 6 --embedding 4 --threads 1 --device cpu --dropout 0 --no-temperatures".split()
WORDS = "oak elm ash yew fir".split()


def _rows(target: str, texts: int) -> str:
    """Forty rows whose label is told by the first word."""
    rows = []
    for i in range(40):
        number = 100 + 10 * (i % 5) + i / 40
        label = f"{number}" if target == "number" else "|".join(WORDS[: i % 3])
        sides = [f"{WORDS[i % 5]} and {i}", "a wood"][:texts]
        rows.append("\t".join([label, *sides]))
    return "\n".join(rows) + "\n"


@pytest.fixture(scope="session", params=["classify number", "classify labels", "pairs number"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs with flat and with latent trees in flat/ and latent/, their file and its arguments."""
    source, target = request.param.split()
    folder = tmp_path_factory.mktemp("targets")
    data = folder / "train.tsv"
    data.write_text(_rows(target, 1 if source == "classify" else 2))
    args = [source, "--train", str(data), "--test", str(data), "--target", target, *TINY]
    (folder / "args.json").write_text(json.dumps(args))
    for name, row in {"flat": "flat", "latent": "sparsemap:max_active=3"}.items():
        out = ["--out", str(folder / name), "--estimator", row, "--max-epochs", "2"]
        assert main(["train", *args, *out]) == 0
    return folder


def arguments(folder: Path) -> list[str]:
    return json.loads((folder / "args.json").read_text())


def of_number(folder: Path) -> bool:
    return "number" in arguments(folder)


def result(folder: Path, name: str = "latent") -> dict[str, Any]:
    return json.loads((folder / name / "result.json").read_text())


def test_the_right_things_are_measured(folder: Path) -> None:
    for name in ("flat", "latent"):
        found = result(folder, name)
        test, criterion = found["tests"]["test"], found["criterion"]
        own = {"mse", "mae", "pearson", "spearman"}
        if not of_number(folder):
            own = {"micro_f1", "macro_f1", "exact_match"}
        assert own | {"loss", "support"} <= test.keys()
        assert not {"accuracy", "confusion"} & test.keys()
        assert criterion == ("mse" if of_number(folder) else "loss")
        outcomes = json.loads((folder / name / "outcomes.json").read_text())["test"]["outcomes"]
        assert sum(outcomes) / 40 == pytest.approx(test[criterion], rel=1e-4)


def test_predict(folder: Path, prints: Prints, fails: Fails) -> None:
    pairs = arguments(folder)[0] == "pairs"
    asked = ["oak and 3", *["a wood"] * pairs]
    found = json.loads(prints("predict", folder / "latent", *asked, "--json"))
    assert len(found["sides"]) == len(asked)
    plain = prints("predict", folder / "latent", *asked, "--draw", "0")
    if of_number(folder):
        assert found["prediction"] == {"number": found["number"]}
        assert 90 < found["number"] < 160
        assert plain.startswith(f"number {found['number']:.4g}\n")
        assert "answers with a number" in fails("predict", folder / "flat", "a", "--labels", "2")
    else:
        assert set(found["prediction"]) == {"oak", "elm"}
        assert found["labels"] == [n for n, p in found["prediction"].items() if p >= 0.5]
        assert plain.count("%") == 2
    assert "ROOT" in prints("trees", folder / "latent", "oak and 3")


def test_evaluate_takes_the_target_of_the_model(folder: Path, prints: Prints, fails: Fails) -> None:
    source, _, data, *_ = arguments(folder)
    found = json.loads(prints("evaluate", folder / "latent", source, "--test", data, "--json"))
    kept = result(folder)["tests"]["test"]
    for name, value in kept.items():
        if not isinstance(value, dict):
            assert found["test"][name] == pytest.approx(value, rel=1e-5, abs=1e-5)
    assert "confusion" not in found["test"]
    text = prints("evaluate", folder / "latent")
    assert ("Pearson" if of_number(folder) else "micro-") in text
    assert "predicted" not in text
    other = "labels" if of_number(folder) else "number"
    said = fails("evaluate", folder / "latent", source, "--test", data, "--target", other)
    assert "expected a finite number" in said or "is data for" in said


def test_resumed_is_as_if_never_stopped(folder: Path, tmp_path: Path) -> None:
    args, out = arguments(folder), tmp_path / "run"
    row = ["--estimator", "sparsemap:max_active=3"]
    assert main(["train", *args, *row, "--out", str(out), "--max-epochs", "1"]) == 0
    config = json.loads((out / "config.json").read_text())
    config["training"]["max_epochs"] = 2
    (out / "config.json").write_text(json.dumps(config))
    (out / "result.json").unlink()
    shutil.rmtree(out / "model")
    assert main(["train", "--resume", str(out)]) == 0
    assert result(tmp_path, "run")["tests"] == result(folder)["tests"]


def test_report(folder: Path, tmp_path: Path, prints: Prints) -> None:
    out = tmp_path / "report.html"
    prints("report", folder / "flat", folder / "latent", "--out", out)
    page = out.read_text()
    flat, latent = (result(folder, n)["tests"]["test"] for n in ("flat", "latent"))
    name = "mse" if of_number(folder) else "loss"
    ours, theirs = (MEASURES[name].text(values[name]) for values in (latent, flat))
    said = page.partition('<p class="finding">')[2].partition("</p>")[0]
    assert said.startswith("sparsemap, which learns its trees, has ")
    assert f" {ours} on the test examples (lower is better); flat," in said
    assert f" {theirs}" in said
    assert ("MSE" if of_number(folder) else "micro-F1") in page
    assert "nan" not in page.partition("<script")[0].lower().replace("nanum", "")
    verdict = page.partition("class='label'>")[2]
    if of_number(folder):
        assert verdict.startswith("number <b>1")
        assert "predicted incorrectly" not in page
        assert 'class="meter"' not in page
    else:
        assert verdict.startswith("label")
        assert 'class="meter"' in page


def test_table(folder: Path, tmp_path: Path, prints: Prints) -> None:
    rows = "--estimators flat sparsemap:max_active=3 --max-epochs 1 --seeds 0 1".split()
    text = prints("table", *arguments(folder), *rows, "--out", tmp_path / "table")
    assert ("Pearson" if of_number(folder) else "exact") in text
    summary = json.loads((tmp_path / "table" / "table.json").read_text())
    assert summary["criterion"] == ("mse" if of_number(folder) else "loss")
    (against,) = [row["against"] for row in summary["rows"].values() if row["against"]]
    assert against["test"]["items"] == 40


def test_stages_need_accuracy(folder: Path, fails: Fails, tmp_path: Path) -> None:
    said = fails("train", *arguments(folder), "--short-first", "3", "--out", tmp_path / "run")
    assert "stages end by accuracy, but" in said
    assert said.endswith("is MSE, got (3,)" if of_number(folder) else "is loss, got (3,)")


def test_what_is_no_number_is_told_before_any_work(tmp_path: Path, fails: Fails) -> None:
    path = tmp_path / "train.csv"
    path.write_text("label,text\n4.5,a b\nhigh,c d\n")
    out = tmp_path / "run"
    said = fails("train", "classify", "--train", path, "--target", "number", "--out", out)
    assert said == f"{path}:3: label: expected a finite number"
    assert not out.exists()
