import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import sparsewood as sp
from sparsewood.lab.cli import main

Prints = Callable[..., str]
SENTENCE = "[MAX 2 9 [MIN 4 7 ] ]"


def test_in_the_terminal_with_gold_heads_marked(latent: Path, prints: Prints) -> None:
    drawn = prints("trees", latent, SENTENCE)
    assert "ROOT" in drawn
    assert "as given" in drawn
    assert "✗" in drawn or "✓" in drawn


@pytest.mark.parametrize(
    ("kind", "sign"),
    [
        ("svg", "<svg"),
        ("html", "<!DOCTYPE html>"),
        ("tikz", r"\begin{dependency}"),
        ("conllu", "# weight ="),
    ],
)
def test_formats(kind: str, sign: str, latent: Path, prints: Prints, tmp_path: Path) -> None:
    assert sign in prints("trees", latent, SENTENCE, "--format", kind)
    out = tmp_path / "trees"
    assert not prints("trees", latent, SENTENCE, "--format", kind, "--out", out)
    assert sign in out.read_text()


def test_fewer_trees(latent: Path, prints: Prints) -> None:
    options = ("--format", "conllu")
    assert prints("trees", latent, SENTENCE, *options, "--most", "1").count("# weight") == 1
    cold = prints("trees", latent, SENTENCE, *options, "--temperature", "1e-6")
    assert cold.count("# weight") == 1


def test_binary_trees_are_drawn_as_brackets(chart: Path, prints: Prints) -> None:
    drawn = prints("trees", chart, SENTENCE)
    assert "╭" in drawn
    assert "ROOT" not in drawn
    assert "<svg" in prints("trees", chart, SENTENCE, "--format", "svg")
    assert "╭" in prints("predict", chart, SENTENCE)


def test_where_there_are_no_trees(
    chart: Path, bow: Path, prints: Prints, fails: Callable[..., str]
) -> None:
    assert fails("trees", bow, SENTENCE).endswith("a model with the estimator bow has no trees")
    assert SENTENCE in prints("predict", bow, SENTENCE)
    refused = fails("trees", chart, SENTENCE, "--format", "conllu")
    assert refused == "format 'conllu': expected dependency trees, got binary trees"


def test_a_sentence_of_a_pair(pairs: Path, prints: Prints) -> None:
    assert "fox" in prints("trees", pairs, "a red fox")


def test_given_trees_are_needed(parsed: Path, fails: Callable[..., str]) -> None:
    assert "--parser spacy" in fails("trees", parsed, "a small wood")
    assert "no such folder" in fails("trees", parsed / "absent", "a small wood")


def test_what_cannot_be_drawn(latent: Path, fails: Callable[..., str], tmp_path: Path) -> None:
    assert "--most: expected at least 1" in fails("trees", latent, SENTENCE, "--most", "0")
    assert "a folder" in fails("trees", latent, SENTENCE, "--out", tmp_path)
    assert not list(tmp_path.iterdir())


def test_files_and_standard_input(
    latent: Path, prints: Prints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(f"{SENTENCE}\n[MIN 1 2 ]\n")
    options = ("--format", "conllu", "--most", "1")
    found = prints("trees", latent, path, *options)
    assert found.count("# weight") == 2
    assert found.endswith("\n\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(path.read_text()))
    assert prints("trees", latent, "-", *options) == found


def test_what_can_be_one_after_the_other(latent: Path, fails: Callable[..., str]) -> None:
    two = ("trees", latent, SENTENCE, "[MIN 1 2 ]", "--format", "svg")
    assert fails(*two) == "--format svg: holds one sentence, got 2"
    assert fails("trees", latent).startswith("expected a sentence")
    assert fails("trees", latent, "absent.txt").startswith("absent.txt: no such file")
    assert "--temperature: expected a positive" in fails(
        "trees", latent, SENTENCE, "--temperature", "0"
    )


def test_a_parser_draws_its_parse(parser: Path, prints: Callable[..., str]) -> None:
    drawn = prints("trees", parser, "oaks shade elms .", "--format", "conllu")
    rows = [line.split("\t") for line in drawn.splitlines() if line[:1].isdigit()]
    assert [row[1] for row in rows] == ["oaks", "shade", "elms", "."]
    assert sum(row[6] == "0" for row in rows) == 1


def _page_data(page: str) -> dict[str, Any]:
    """The data of the figure of a page."""
    found = re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


@pytest.mark.parametrize("options", [(), ("--temperature", "0.05")])
def test_a_live_figure_begins_with_the_same_trees(
    options: tuple[str, ...], latent: Path, prints: Prints, tmp_path: Path
) -> None:
    out = tmp_path / "live.html"
    prints("trees", latent, SENTENCE, "--format", "live", "--out", out, *options)
    data = _page_data(out.read_text(encoding="utf-8"))
    post = sp.sparsemap(
        torch.tensor([-torch.inf if s is None else s for s in data["scores"]]).reshape(8, 9),
        sp.DependencyTrees(),
        temperature=data["temperature"],
        max_active=data["most"],
    )
    drawn = prints("trees", latent, SENTENCE, "--format", "conllu", *options)
    weights = [float(w) for w in re.findall(r"# weight = (\S+)", drawn)]
    assert post.topk(len(weights)).weights.tolist() == pytest.approx(weights, abs=1e-6)
    assert int(post.sizes) == len(weights)
    assert data["given"] == [0, 1, 1, 1, 4, 4, -1, -1]


def test_trees_that_are_not_solved_for_stand_still(
    given: Path,
    chart: Path,
    bow: Path,
    fails: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["trees", str(given), SENTENCE, "--format", "live"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("<!DOCTYPE html>")
    assert "sparsewood-live" not in told.out
    assert "the estimator given has no scores to change" in told.err
    assert main(["trees", str(chart), SENTENCE, "--format", "live"]) == 0
    told = capsys.readouterr()
    assert "<svg" in told.out
    assert "the estimator chart has no scores to change" in told.err
    assert fails("trees", bow, SENTENCE, "--format", "live").endswith("bow has no trees")
    assert "--most: does not apply to a live figure" in fails(
        "trees", given, SENTENCE, "--format", "live", "--most", "2"
    )
