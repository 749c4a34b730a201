from pathlib import Path

import pytest

from sparsewood.lab.data.sick import read_sick

HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"


def test_three_files(tmp_path: Path) -> None:
    for name in ("train", "trial", "test_annotated"):
        (tmp_path / f"SICK_{name}.txt").write_text(f"{HEADER}1\tA {name}\tB\t4.5\tNEUTRAL\n")
    splits = read_sick(tmp_path)
    assert {n: (s[0].label, s[0].sentences[0].words[1]) for n, s in splits.items()} == {
        "train": ("neutral", "train"),
        "validation": ("neutral", "trial"),
        "test": ("neutral", "test_annotated"),
    }
    (tmp_path / "SICK_trial.txt").write_text(f"{HEADER}1\tA\tB\t4.5\tPERHAPS\n")
    with pytest.raises(ValueError, match="SICK_trial.txt:2: label: expected one of"):
        read_sick(tmp_path)


def test_one_file(tmp_path: Path) -> None:
    header = "sentence_A\tsentence_B\tentailment_label\tSemEval_set\n"
    rows = [f"a {s}\tb\tENTAILMENT\t{s}\n" for s in ("TRAIN", "TEST", "TRIAL", "TRAIN")]
    (tmp_path / "SICK.txt").write_text(header + "".join(rows))
    splits = read_sick(tmp_path)
    sizes = {name: len(split) for name, split in splits.items()}
    assert sizes == {"train": 2, "validation": 1, "test": 1}
    assert splits["validation"][0].sentences[0].words == ("a", "TRIAL")


def test_neither(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected a folder with SICK_train.txt"):
        read_sick(tmp_path)
