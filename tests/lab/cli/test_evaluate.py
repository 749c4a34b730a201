import json
from collections.abc import Callable
from pathlib import Path

import pytest

Prints = Callable[..., str]


def test_the_run_s_own_data_gives_the_run_s_results(latent: Path, prints: Prints) -> None:
    found = json.loads(prints("evaluate", latent, "--json", "--device", "cpu"))
    result = json.loads((latent / "result.json").read_text())
    for mine, theirs in (
        (found["test"], result["tests"]["test"]),
        (found["validation"], result["validation"]),
    ):
        for name in ("histogram", "confusion"):
            assert mine.pop(name) == theirs.pop(name)
        assert mine == pytest.approx(theirs)


def test_a_person_sees_metrics_certificates_and_confusions(latent: Path, prints: Prints) -> None:
    shown = prints("evaluate", latent, "--splits", "test")
    assert "accuracy" in shown
    assert "macro-" in shown
    assert "test: certified " in shown
    assert " of 12" in shown
    assert "correct \\ predicted" in shown


def test_a_temperature_and_a_split(latent: Path, prints: Prints) -> None:
    options = ("--json", "--splits", "test", "--temperature", "1e-6")
    found = json.loads(prints("evaluate", latent, *options))
    assert list(found) == ["test"]
    assert found["test"]["single"] == 100.0


def test_other_data(latent: Path, prints: Prints, tmp_path: Path) -> None:
    (tmp_path / "other.tsv").write_text("9\t[MAX 2 9 ]\n2\t[MIN 2 9 ]\n")
    options = ("classify", "--test", tmp_path / "other.tsv", "--json")
    found = json.loads(prints("evaluate", latent / "model", *options))
    assert list(found) == ["test"]
    assert found["test"]["accuracy"] in (0.0, 50.0, 100.0)


def test_what_cannot_be_evaluated(latent: Path, fails: Callable[..., str], tmp_path: Path) -> None:
    assert "no such folder" in fails("evaluate", tmp_path / "absent")
    assert "has no data" in fails("evaluate", latent / "model")
    assert "pass the file to evaluate on with --test" in fails("evaluate", latent, "classify")
    assert "no split 'tset'" in fails("evaluate", latent, "--splits", "tset")
    (tmp_path / "p.tsv").write_text("9\ta b\tc d\n")
    message = fails("evaluate", latent, "pairs", "--test", tmp_path / "p.tsv")
    assert message.endswith("is a model for classify, pairs is data for nli")
    assert "did you mean 'classify'?" in fails("evaluate", latent, "clasify")
    empty = ("listops", "--test", "0", "--splits", "test")
    assert fails("evaluate", latent, *empty) == "the split 'test' has no examples"
    (tmp_path / "c.tsv").write_text("good\t[MAX 2 9 ]\n")
    assert "'good'" in fails("evaluate", latent, "classify", "--test", tmp_path / "c.tsv")


def test_a_parser_and_a_dictionary(
    parser: Path, dictionary: Path, prints: Callable[..., str], fails: Callable[..., str]
) -> None:
    found = json.loads(prints("evaluate", parser, "--json"))
    assert found.keys() == {"validation", "test"}
    assert found["test"] == found["validation"]  # the same sentences
    assert 0 <= found["test"]["exact"] <= found["test"]["uas"] <= 100
    assert "punctuation" in prints("evaluate", parser)
    other = json.loads(prints("evaluate", parser, "parse", "--data", parser.parent, "--json"))
    assert other == found
    assert "median" in prints("evaluate", dictionary)  # no labels, no confusion
    assert "model for parse, listops is data for classify" in fails("evaluate", parser, "listops")


def test_by_words_and_operators(
    latent: Path, given: Path, prints: Prints, fails: Callable[..., str]
) -> None:
    found = json.loads(prints("evaluate", latent, "--by", "words", "--bins", "5", "7", "--json"))
    assert list(found) == ["validation", "test", "by_length"]
    told = found["by_length"]
    assert told["unit"] == "words"
    assert sum(values["examples"] for values in told["bins"]) == 12
    shown = prints("evaluate", given, "--by", "operators", "--splits", "validation")
    assert "by operators, trained on 1 to " in shown
    assert "attach-" in shown
    message = fails("evaluate", latent, "--bins", "5")
    assert message == "--bins: expected --by words or --by operators as well"


def test_word_alignments(
    latent: Path, prints: Prints, fails: Callable[..., str], tmp_path: Path
) -> None:
    rows = [f"{'yes' if i % 2 else 'no'}\ta red fox {i}\tthe red fox\n" for i in range(12)]
    (tmp_path / "train.tsv").write_text("".join(rows))
    small = "--hidden 6 --embedding 4 --max-epochs 1 --threads 1 --device cpu --estimator flat"
    run, file = tmp_path / "run", tmp_path / "links.tsv"
    train = ("train", "pairs", "--train", tmp_path / "train.tsv", *small.split())
    prints(*train, "--attention", "matching", "--out", run)
    file.write_text("0\ta red fox\t\tthe red fox\t\t1\t1\t0-0 1-1\t2-2\n")
    found = json.loads(prints("evaluate", run, "--alignments", file, "--json"))
    assert found["matching"]["links"] == 3
    assert found["matching"]["precision"] <= 200 / 3 + 1e-9
    shown = prints("evaluate", run / "model", "--alignments", file, "--min-attention", "0.9")
    assert "one-to-one, of the largest sum" in shown
    assert "1 pairs with 2 sure and 1 possible links" in shown
    assert "expected a model of pairs" in fails("evaluate", latent, "--alignments", file)
    assert fails("evaluate", run, "pairs", "--test", file, "--alignments", file).startswith(
        "--alignments: leave out the source"
    )
    assert "--alignments FILE as well" in fails("evaluate", run, "--min-attention", "0.1")
