"""What all tests of the workbench share."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of each test's own, not the user's; made when something is first kept in it."""
    monkeypatch.setenv("SPARSEWOOD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
