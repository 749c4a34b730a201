from pathlib import Path

import pytest

from sparsewood.lab.data.mnli import read_mnli

HEADER = "gold_label\tgenre\tsentence1\tsentence2\n"
PART = "sentence1\tsentence2\tlabel\tgenre\n"


def test_the_whole_corpus(tmp_path: Path) -> None:
    rows = [f"neutral\tfiction\ta {i}\tb\n" for i in range(20)]
    (tmp_path / "multinli_1.0_train.txt").write_text(HEADER + "".join(rows))
    for name, label in (("matched", "entailment"), ("mismatched", "contradiction")):
        text = f"{HEADER}{label}\ttravel\ta {name}\tb\n-\ttravel\ta\tb\n"
        (tmp_path / f"multinli_1.0_dev_{name}.txt").write_text(text)
    splits = read_mnli(tmp_path)
    sizes = {name: len(split) for name, split in splits.items()}
    assert sizes == {"train": 18, "validation": 2, "matched": 1, "mismatched": 1}
    assert splits["mismatched"][0].label == "contradiction"
    assert splits["matched"][0].sentences[0].words == ("a", "matched")
    seen = {e.sentences[0].words for name in ("train", "validation") for e in splits[name]}
    assert len(seen) == 20


def test_a_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "mnli_train.tsv").write_text(PART + "a\tb c\tneutral\tfiction\n" * 10)
    (tmp_path / "mnli_val.tsv").write_text(PART + "a\td\tentailment\tslate\n")
    splits = read_mnli(tmp_path)
    assert {name: len(split) for name, split in splits.items()} == {
        "train": 9,
        "validation": 1,
        "test": 1,
    }
    assert [s.words for s in splits["train"][0].sentences] == [("a",), ("b", "c")]
    (tmp_path / "mnli_val.tsv").write_text(PART + "a\td\tperhaps\tslate\n")
    with pytest.raises(ValueError, match="mnli_val.tsv:2: label: expected one of"):
        read_mnli(tmp_path)


def test_neither(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected a folder with multinli_1.0_"):
        read_mnli(tmp_path)
