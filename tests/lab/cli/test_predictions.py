"""Predictions written to files: a form for each ending."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sparsewood.lab.data.columns import read_table

Prints = Callable[..., str]
TEXTS = ["[MAX 2 9 ]", "[min 4, 7]"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "text"], *enumerate(TEXTS)])
    return path


def test_csv(latent: Path, table: Path, prints: Prints, tmp_path: Path) -> None:
    out = tmp_path / "said.csv"
    assert prints("predict", latent, table, "--out", out) == ""
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == ["[MAX 2 9 ]", "[MIN 4 7 ]"]
    assert [row["where"] for row in rows] == [f"{table}:2", f"{table}:3"]
    for row in rows:
        numbers = {k: float(v) for k, v in row.items() if k.startswith("p(")}
        assert len(numbers) == 10
        assert sum(numbers.values()) == pytest.approx(1)
        assert max(numbers, key=numbers.__getitem__) == f"p({row['label']})"


def test_tsv_is_read_back(latent: Path, prints: Prints, tmp_path: Path) -> None:
    path, out = tmp_path / "in.jsonl", tmp_path / "said.tsv"
    path.write_text(json.dumps({"text": "[MAX 2\t9 ]"}))
    prints("predict", latent, path, "--out", out)
    ((_, (text, where)),) = read_table(out, ("text", "where"))
    assert text == "[MAX 2 9 ]"
    assert where == f"{path}:1"


def test_json(latent: Path, table: Path, prints: Prints, tmp_path: Path) -> None:
    lines = prints("predict", latent, table, "--json").splitlines()
    for name, options in (("a.json", ()), ("b.json", ("--json",))):
        prints("predict", latent, table, *options, "--out", tmp_path / name)
        found = json.loads((tmp_path / name).read_text())
        assert found == [json.loads(line) for line in lines]
    prints("predict", latent, table, "--out", tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_text().splitlines() == lines


def test_pairs_and_words(pairs: Path, dictionary: Path, prints: Prints, tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    prints("predict", pairs, "a red fox", "a fox", "--out", out)
    head, row = csv.reader(out.read_text().splitlines())
    assert head[:4] == ["where", "text", "text2", "label"]
    assert row[:3] == ["", "a red fox", "a fox"]
    prints("predict", dictionary, "a small wood", "--labels", "2", "--out", out)
    head, row = csv.reader(out.read_text().splitlines())
    assert head == ["where", "text", "label", "answer1", "value1", "answer2", "value2"]
    assert row[2] == row[3]
    assert float(row[4]) >= float(row[6])


def test_other_answers(prints: Prints, tmp_path: Path) -> None:
    train, out = tmp_path / "t.tsv", tmp_path / "a.csv"
    small = "--hidden 6 --embedding 4 --max-epochs 1 --threads 1 --device cpu --estimator flat"
    for target, label, column in (("number", "{}", "number"), ("labels", "x|y", "labels")):
        train.write_text("".join(f"{label.format(i)}\tone {i}\n" for i in range(12)))
        run = tmp_path / target
        options = ["--train", train, "--target", target, *small.split(), "--out", run]
        prints("train", "classify", *options)
        prints("predict", run, "one 2", "--out", out)
        (row,) = csv.DictReader(out.read_text().splitlines())
        assert column in row
        if target == "labels":
            assert {"p(x)", "p(y)"} <= row.keys()
        else:
            told = json.loads(prints("predict", run, "one 2", "--json"))
            assert float(row["number"]) == told["number"]
            assert list(row) == ["where", "text", "number"]


def test_what_contradicts_is_refused_before_any_work(
    latent: Path, fails: Callable[..., str], tmp_path: Path
) -> None:
    absent = tmp_path / "no model"
    for name in ("a.csv", "a.txt"):
        said = fails("predict", absent, "one", "--json", "--out", tmp_path / name)
        assert said.startswith("--json: contradicts --out ")
    assert "expected a name that ends in" in fails("predict", absent, "one", "--out", "a.svg")
    said = fails("trees", absent, "one", "--format", "svg", "--out", tmp_path / "a.html")
    assert said.startswith("--format svg: contradicts --out ")
    assert "expected a name that" in fails("trees", absent, "one", "--out", tmp_path / "a.csv")
    said = fails("predict", latent, "one", "--labels", "2", "--out", tmp_path / "a.csv")
    assert "has a column for every label" in said


def test_trees_by_ending(latent: Path, prints: Prints, tmp_path: Path) -> None:
    for name, sign in (("a.svg", "<svg"), ("a.tex", r"\begin{dependency}"), ("a.html", "<!DOC")):
        prints("trees", latent, "[MAX 2 9 ]", "--out", tmp_path / name)
        assert sign in (tmp_path / name).read_text()
