import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from sparsewood.lab.cli import main
from sparsewood.lab.tasks import TreeModel

Prints = Callable[..., str]
Fails = Callable[..., str]


def test_json_lines(latent: Path, prints: Prints) -> None:
    lines = prints("predict", latent, "[MAX 2 9 ]", "[MIN 4 [MAX 1 3 ] ]", "--json").splitlines()
    found = [json.loads(line) for line in lines]
    labels = json.loads((latent / "model" / "config.json").read_text())["labels"]
    assert [len(one["sides"][0]["words"]) for one in found] == [4, 7]
    for one in found:
        assert one["label"] == max(one["prediction"], key=one["prediction"].get)
        assert len(one["prediction"]) == len(labels)
        assert sum(one["prediction"].values()) == pytest.approx(1)
        assert "where" not in one
        (side,) = one["sides"]
        assert side["unknown"] == []
        assert side["status"] == "solved" or side["gap"] > 0
        assert sum(tree["weight"] for tree in side["trees"]) == pytest.approx(1)
        assert all(len(tree["heads"]) == len(side["words"]) for tree in side["trees"])


def test_standard_input(latent: Path, prints: Prints, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("[MAX 2 9 ]\n\n[MIN 3 1 ]\n"))
    assert len(prints("predict", latent, "--json").splitlines()) == 2


def test_a_person_sees_labels_and_a_tree(latent: Path, prints: Prints) -> None:
    drawn = prints("predict", latent, "[MAX 2 9 ]")
    assert "ROOT" in drawn
    plain = prints("predict", latent, "[MAX 2 9 ]", "--draw", "0", "--labels", "1")
    assert plain.count("%") == 1
    assert "ROOT" not in plain


def test_pairs(pairs: Path, prints: Prints, fails: Fails, monkeypatch: pytest.MonkeyPatch) -> None:
    by_two = prints("predict", pairs, "a red fox", "a hen", "--json")
    assert prints("predict", pairs, "a red fox\ta hen", "--json") == by_two
    assert [s["words"] for s in json.loads(by_two)["sides"]] == [["a", "red", "fox"], ["a", "hen"]]
    assert "expected pairs" in fails("predict", pairs, "a red fox")
    monkeypatch.setattr("sys.stdin", io.StringIO("one\ttwo\nalone\n"))
    expected = "standard input:2: expected premise and hypothesis"
    assert fails("predict", pairs).startswith(expected)


def test_given_trees(given: Path, parsed: Path, prints: Prints, fails: Fails) -> None:
    (side,) = json.loads(prints("predict", given, "[MAX 2 9 ]", "--json"))["sides"]
    assert side["trees"] == [{"heads": [0, 1, 1, 1], "weight": 1.0}]
    assert "the estimator given of this model has no temperature" in fails(
        "predict", given, "[MAX 2 9 ]", "--temperature", "2"
    )
    assert "--parser spacy" in fails("predict", parsed, "a small wood")


def test_a_reverse_dictionary_answers_with_words(dictionary: Path, prints: Prints) -> None:
    assert json.loads(prints("predict", dictionary, "a thing", "--json"))["label"].startswith(
        "word"
    )
    assert "%" not in prints("predict", dictionary, "a thing", "--draw", "0")


def test_text_that_is_none(
    latent: Path, fails: Fails, prints: Prints, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "white space" in fails("predict", latent, "")
    assert fails("predict", latent, "absent.tsv").startswith("absent.tsv: no such file")
    assert "--labels: expected at least 1" in fails("predict", latent, "a", "--labels", "0")
    assert "--draw: expected at least 0" in fails("predict", latent, "a", "--draw", "-1")
    stdin = io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf[MAX 2 ]\r\n"), "latin-1")
    monkeypatch.setattr("sys.stdin", stdin)
    (side,) = json.loads(prints("predict", latent, "--json"))["sides"]
    assert side["words"] == ["[MAX", "2", "]"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a \xff\n")))
    said = fails("predict", latent)
    assert said.startswith("standard input: not UTF-8 text")
    assert "--encoding" in said
    monkeypatch.setattr("sys.stdin", None)
    assert "no standard input" in fails("predict", latent)


def test_a_file_to_a_file(latent: Path, prints: Prints, fails: Fails, tmp_path: Path) -> None:
    table, out = tmp_path / "a.tsv", tmp_path / "a.jsonl"
    table.write_text("id\ttext\n1\t[MAX 2 9 ]\n2\t[pm 4]\n")
    assert prints("predict", latent, table, "--json", "--out", out) == ""
    first, second = map(json.loads, out.read_text().splitlines())
    assert first["where"] == f"{table}:2"
    assert second["sides"][0]["unknown"] == ["[PM"]
    assert "one of the input files" in fails("predict", latent, table, "--out", table)
    assert f"{table}:2: " in prints("predict", latent, table, "--draw", "0")
    table.write_text("id\ttext\n1\t[MAX 2 9 ]\n2\n")
    old = out.read_text()
    assert f"{table}:3: expected 2 columns" in fails("predict", latent, table, "--out", out)
    assert out.read_text() == old


def test_list_operations_however_they_are_typed(latent: Path, prints: Prints, fails: Fails) -> None:
    spaced = prints("predict", latent, "[MAX 2 9 [MIN 4 7 ] 0 ]")
    assert prints("predict", latent, "[max 2, 9[min 4 7]0]") == spaced
    refused = fails("predict", latent, "[MAX 2 9 [MIN 4 7] 0")
    assert refused.startswith("'[MAX' has no closing ']', at character 1: ▸[MAX")


def test_what_is_said_beside(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(pairs), "a red fox", "qqq www", "--draw", "0"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert told[0].startswith("sparsewood: warning: no word of 1 of 2 sentences")
    assert told[1].startswith("certified ")
    assert told[1].endswith("; unknown words 2 of 5 (40.0%)")


def test_a_temperature(latent: Path, prints: Prints, fails: Fails) -> None:
    options = ("predict", latent, "[MAX 2 9 [MIN 4 7 ] 0 ]", "--json", "--temperature")
    cold, warm = (
        json.loads(prints(*options, temperature))["sides"][0] for temperature in ("1e-6", "4")
    )
    assert len(cold["trees"]) == 1
    assert cold["status"] == "solved"
    assert len(warm["trees"]) > 1
    for temperature in ("0", "-1", "nan", "inf"):
        assert "--temperature: expected a positive number" in fails(*options, temperature)


def test_a_parser_has_no_labels(parser: Path, fails: Callable[..., str]) -> None:
    said = fails("predict", parser, "oaks shade elms .")
    assert "has no labels" in said
    assert said.endswith(f"sparsewood trees {parser} SENTENCE")


def test_a_sentence_that_memory_has_no_room_for(
    latent: Path, fails: Fails, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TreeModel, "context", lambda *_: torch.empty(2**46))
    path = tmp_path / "long.txt"
    path.write_text("[MAX 2 9 ]\n[MAX 2 9 4 ]\n")
    said = fails("predict", latent, path)
    assert said.startswith("out of memory: ")
    assert "long.txt:2: 2 sentences, the longest with 5 words" in said
