import json
from pathlib import Path

import pytest

from sparsewood._internal.extras import how_to_install
from sparsewood.lab._extras import MissingExtra, require


def test_an_installed_module_is_returned():
    assert require("json", extra="parse") is json


def test_a_missing_module_names_its_extra():
    with pytest.raises(MissingExtra) as caught:
        require("no_such_package.part", extra="parse")
    said = f"no_such_package is not installed (extra [parse]): {how_to_install('parse')}"
    assert str(caught.value) == said
    assert isinstance(caught.value, ValueError)


def test_a_module_broken_inside_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "broken_inside.py").write_text("import surely_absent_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="surely_absent_module"):
        require("broken_inside", extra="parse")
