from contextlib import suppress
from pathlib import Path

import pytest

from spinney.data.cache import cache_folder, whole_file


def test_the_folder_is_the_users_choice_then_the_platforms(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPINNEY_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("SPINNEY_CACHE")
    assert cache_folder() == tmp_path / "xdg" / "spinney"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / ".cache" / "spinney"


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
