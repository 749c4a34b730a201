"""Files and folders are there in full or not at all."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from sparsewood.lab._files import new_folder, sole_writer, whole_file, write_json, write_text


def test_files_are_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "one")
    write_json(tmp_path / "a.txt", {"é": 2})
    assert json.loads((tmp_path / "a.txt").read_text(encoding="utf-8")) == {"é": 2}
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_folders_are_replaced(tmp_path: Path) -> None:
    for text in ("one", "two"):
        with new_folder(tmp_path / "f") as partial:
            (partial / text).write_text(text)
            assert not (tmp_path / "f" / text).exists()
    assert [path.name for path in (tmp_path / "f").iterdir()] == ["two"]


def test_a_failure_leaves_the_old_folder(tmp_path: Path) -> None:
    with new_folder(tmp_path / "f") as partial:
        (partial / "old").touch()

    def fail() -> None:
        with new_folder(tmp_path / "f") as partial:
            (partial / "new").touch()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [path.name for path in (tmp_path / "f").iterdir()] == ["old"]
    with new_folder(tmp_path / "f") as partial:  # what was left behind is no hindrance
        (partial / "newer").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["f", "newer"]


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    with whole_file(path) as draft:
        draft.write_text("first")
        assert not path.exists()
    with pytest.raises(FileNotFoundError), whole_file(path):
        pass  # nothing was written
    with suppress(RuntimeError), whole_file(path) as draft:
        draft.write_text("sec")
        raise RuntimeError
    assert path.read_text() == "first"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with sole_writer(tmp_path / "f"):
        with (
            pytest.raises(ValueError, match="f: another process is writing there"),
            sole_writer(tmp_path / "f"),
        ):
            pass
        (tmp_path / "f" / "kept").touch()
    with sole_writer(tmp_path / "f"):
        pass
    assert [path.name for path in (tmp_path / "f").iterdir()] == ["kept"]


def test_a_folder_left_empty_goes_again(tmp_path: Path) -> None:
    with sole_writer(tmp_path / "f"):
        assert (tmp_path / "f").is_dir()
    assert not list(tmp_path.iterdir())


def test_an_error_names_the_file_and_not_its_draft(tmp_path: Path) -> None:
    target = tmp_path / "is_a_folder"
    target.mkdir()
    with pytest.raises(OSError, match="Is a directory") as caught:
        write_text(target, "text")
    assert caught.value.filename == str(target)
    with pytest.raises(OSError, match="name too long") as caught:
        write_text(tmp_path / ("x" * 300), "text")
    assert caught.value.filename == str(tmp_path / ("x" * 300))
    assert list(tmp_path.iterdir()) == [target]
