from pathlib import Path

import pytest

from sparsewood.lab.data import count_missing
from sparsewood.lab.data.sources import ListOps


def test_generated_splits_and_published_files(tmp_path: Path) -> None:
    for name in ("test_d5", "dev"):
        (tmp_path / f"{name}.tsv").write_text("9\t( ( ( [MAX 2 ) 9 ) ] )\n")
    files = (tmp_path / "test_d5.tsv", tmp_path / "dev.tsv")
    source = ListOps(files=files, train=20, validation=5, test=6, max_depth=3, max_length=20)
    corpus = source.load()
    sizes = {name: len(split) for name, split in corpus.splits.items()}
    assert sizes == {"train": 20, "validation": 1, "test": 6, "test_d5": 1}
    for split in corpus.splits.values():
        assert count_missing(split) == 0
        assert max(len(e.sentences[0].words) for e in split) <= 20


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="absent.tsv: no such file of list operations"):
        ListOps(files=(tmp_path / "absent.tsv",)).load()
