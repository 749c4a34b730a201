"""The README as the description of the package on an index."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
_LINK = re.compile(r"(!?)\[([^\]]+)\]\(([^)]+)\)")
_LARGEST = 7_000  # bytes: a page that is read to its end


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_description_has_no_dead_links() -> None:
    text = README.read_text(encoding="utf-8")
    hook = _project()["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert hook["fragments"] == [{"path": "README.md"}]
    described = text
    for change in hook["substitutions"]:
        described = re.sub(change["pattern"], change["replacement"], described)
    relative = [link for *_, link in _LINK.findall(text) if not link.startswith("https://")]
    assert relative  # the page of the repository has its links
    assert all(link.startswith("https://") for *_, link in _LINK.findall(described))
    for picture, name, _ in _LINK.findall(text):
        assert (name in described) != bool(picture)


def test_links_of_the_repository_lead_somewhere() -> None:
    text = README.read_text(encoding="utf-8")
    for *_, link in _LINK.findall(text):
        if not link.startswith("https://"):
            assert (ROOT / link.partition("#")[0]).exists(), link


def test_it_is_short() -> None:
    assert README.stat().st_size <= _LARGEST


def test_its_code_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["p"].shape == (8, 2)
    assert all(weights.grad is not None for weights in names["scorer"].parameters())
    assert "ROOT" in capsys.readouterr().out


def test_results_stay_out_of_the_source_distribution() -> None:
    assert "/results" in _project()["tool"]["scikit-build"]["sdist"]["exclude"]
