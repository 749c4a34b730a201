"""The README as the description of the package on an index."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_description_has_no_dead_links() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    hook = _project()["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert hook["fragments"] == [{"path": "README.md"}]
    described = text
    for change in hook["substitutions"]:
        described = re.sub(change["pattern"], change["replacement"], described)
    relative = [link for _, link in _LINK.findall(text) if not link.startswith("https://")]
    assert relative  # the page of the repository has its links
    assert all(link.startswith("https://") for _, link in _LINK.findall(described))
    for name, _ in _LINK.findall(text):
        assert name in described


def test_links_of_the_repository_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for _, link in _LINK.findall(text):
        if not link.startswith("https://"):
            assert (ROOT / link.partition("#")[0]).exists(), link


def test_results_stay_out_of_the_source_distribution() -> None:
    assert "/results" in _project()["tool"]["scikit-build"]["sdist"]["exclude"]
