from pathlib import Path

import pytest

from sparsewood.lab.data.cache import cache_folder


def test_the_folder_is_the_users_choice_then_the_platforms(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARSEWOOD_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("SPARSEWOOD_CACHE")
    assert cache_folder() == tmp_path / "xdg" / "sparsewood"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / ".cache" / "sparsewood"
