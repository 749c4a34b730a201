"""What all tests of the workbench share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import encoders


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of each test's own, not the user's; made when something is first kept in it."""
    monkeypatch.setenv("SPARSEWOOD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def save_encoder() -> Callable[..., Path]:
    """(folder, kind, **options of its configuration) -> the folder, with a tiny encoder in it."""
    pytest.importorskip("transformers", reason="the extra [hf] is not installed")
    return encoders.save_encoder


@pytest.fixture(scope="session")
def encoder_folder(
    save_encoder: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of a tiny encoder of word pieces."""
    return save_encoder(tmp_path_factory.mktemp("encoder") / "bert")
