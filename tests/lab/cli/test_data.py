from collections.abc import Callable
from pathlib import Path

from sparsewood.lab.data import read_listops


def test_files_that_can_be_read_again(prints: Callable[..., str], tmp_path: Path) -> None:
    options = "--train 9 --validation 4 --test 3 --max-depth 3 --max-length 12"
    out = prints("data", "listops", "--out", tmp_path / "new", *options.split())
    assert len(out.splitlines()) == 3
    for name, count in (("train", 9), ("dev", 4), ("test", 3)):
        assert len(read_listops(tmp_path / "new" / f"{name}.tsv")) == count


def test_what_is_not_generated(fails: Callable[..., str], tmp_path: Path) -> None:
    assert "did you mean 'listops'?" in fails("data", "listop")
    assert "max_depth" in fails("data", "listops", "--out", tmp_path / "x", "--max-depth", "0")
    assert not (tmp_path / "x").exists()


def test_nothing_is_overwritten(fails: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("mine")
    assert "dev.tsv: exists already" in fails("data", "listops", "--out", tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
