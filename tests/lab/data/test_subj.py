from pathlib import Path

import pytest

from sparsewood.lab.data.subj import read_subj


def _official(folder: Path) -> None:
    for name, word in (("plot", "hero"), ("quote", "dull")):
        lines = [f"{word} {i} won't , go .\n" for i in range(10)]
        (folder / f"{name}.tok.gt9.5000").write_text("".join(lines))


def test_official_files_are_shuffled_and_split_by_the_seed(tmp_path: Path) -> None:
    _official(tmp_path)
    splits = read_subj(tmp_path, seed=3)
    sizes = {name: len(split) for name, split in splits.items()}
    assert sizes == {"train": 14, "validation": 2, "test": 4}
    examples = [e for split in splits.values() for e in split]
    assert len({e.sentences[0].words for e in examples}) == 20
    for e in examples:
        assert e.label == ("objective" if e.sentences[0].words[0] == "hero" else "subjective")
        assert e.sentences[0].words[2] == "won't"
    assert read_subj(tmp_path, seed=3) == splits
    assert read_subj(tmp_path, seed=4) != splits


def test_the_fixed_split_comes_first(tmp_path: Path) -> None:
    _official(tmp_path)
    for name in ("train", "dev", "test"):
        (tmp_path / f"subj_{name}.tsv").write_text("0\ta hero\t2 0\tdet ROOT\n1\tdull\t0\tROOT\n")
    splits = read_subj(tmp_path)
    assert [(e.label, e.sentences[0].heads) for e in splits["validation"]] == [
        ("objective", (2, 0)),
        ("subjective", (0,)),
    ]
    (tmp_path / "subj_dev.tsv").write_text("\n2\tdull\t0\n")
    with pytest.raises(ValueError, match="subj_dev.tsv:2: label: expected one of 0, 1$"):
        read_subj(tmp_path)


def test_a_folder_without_either_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected a folder with subj_train.tsv"):
        read_subj(tmp_path)
