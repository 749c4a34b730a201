import json
from pathlib import Path

import pytest

from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.snli import read_snli

ROWS = [("neutral", "A man eats.", "He dines."), ("-", "a", "b"), ("entailment", "One.", "Two")]
WANTED = [("neutral", "A man eats .", "He dines ."), ("entailment", "One .", "Two")]


def _texts(examples: list[Example]) -> list[tuple[str, ...]]:
    return [(e.label, *(" ".join(s.words) for s in e.sentences)) for e in examples]


def _write(folder: Path, form: str, split: str) -> None:
    if form == "jsonl":
        keys = ("gold_label", "sentence1", "sentence2")
        lines = [json.dumps(dict(zip(keys, row, strict=True))) for row in ROWS]
        (folder / f"snli_1.0_{split}.jsonl").write_text("\n".join(lines))
    elif form == "txt":
        lines = ["gold_label\tid\tsentence1\tsentence2"]
        lines += [f"{label}\t7\t{one}\t{two}" for label, one, two in ROWS]
        (folder / f"snli_1.0_{split}.txt").write_text("\n".join(lines))
    else:
        for name, column in zip(("labels", "s1", "s2"), zip(*ROWS, strict=True), strict=True):
            (folder / f"{name}.{split}").write_text("\n".join(column) + "\n")


@pytest.mark.parametrize("form", ["jsonl", "txt", "three"])
def test_every_form(tmp_path: Path, form: str) -> None:
    for split in ("train", "dev", "test"):
        _write(tmp_path, form, split)
    splits = read_snli(tmp_path)
    assert list(splits) == ["train", "validation", "test"]
    assert [_texts(examples) for examples in splits.values()] == [WANTED] * 3


def test_a_part_stands_in_for_the_training_split(tmp_path: Path) -> None:
    part = tmp_path / "train20k"
    part.mkdir()
    (part / "train.csv").write_text("".join(f"2\t2\tp {i}\th\n" for i in range(20)))
    (part / "test.csv").write_text("1\t1\tp\th\n")
    _write(tmp_path, "three", "dev")
    with pytest.raises(ValueError, match="no test split of SNLI"):
        read_snli(tmp_path)
    _write(tmp_path, "jsonl", "test")
    splits = read_snli(tmp_path)
    assert [len(splits[name]) for name in ("train", "validation", "test")] == [21, 2, 2]
    assert {e.label for e in splits["train"]} == {"contradiction", "neutral"}
    alone = read_snli(part)
    assert [len(alone[name]) for name in ("train", "validation", "test")] == [18, 2, 1]
    assert not {*alone["train"]} & {*alone["validation"]}


def test_wrong_lines_are_named(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        _write(tmp_path, "three", split)
    (tmp_path / "labels.dev").write_text("neutral\nmaybe\nneutral\n")
    with pytest.raises(ValueError, match="labels.dev:2: label: expected one of .* or -$"):
        read_snli(tmp_path)
    (tmp_path / "labels.dev").write_text("neutral\n")
    with pytest.raises(ValueError, match="labels.dev 1, s1.dev 3, s2.dev 3"):
        read_snli(tmp_path)
    (tmp_path / "train.csv").write_text("4\t4\tp\th\n")
    (tmp_path / "test.csv").write_text("")
    with pytest.raises(ValueError, match="train.csv:1: expected 1, 2 or 3"):
        read_snli(tmp_path)
