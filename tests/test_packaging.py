"""The metadata of the package."""

import re
import tomllib
from pathlib import Path

from tests import smoke

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]


def _oldest_torch() -> str:
    (floor,) = (need for need in PROJECT["dependencies"] if need.startswith("torch>="))
    return floor.removeprefix("torch>=")


def test_the_oldest_torch_is_the_same_everywhere() -> None:
    for page in ("README.md", "docs/install.md"):
        found = re.search(r"PyTorch (\d+\.\d+) or later", (ROOT / page).read_text())
        assert found is not None, page
        assert found[1] == _oldest_torch(), page


def test_the_oldest_and_the_pinned_torch_are_tested() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    rows = re.findall(r'- \{ python: "([\d.]+)"(?:, torch: "([\d.]+)\.\*")? \}', workflow)
    oldest_python = PROJECT["requires-python"].removeprefix(">=")
    assert (oldest_python, _oldest_torch()) in rows
    assert "" in [torch for _, torch in rows]
    named = {f"Programming Language :: Python :: {python}" for python, _ in rows}
    assert named == {line for line in PROJECT["classifiers"] if ":: Python :: 3." in line}
    assert re.search(r"^torch==", (ROOT / "constraints.txt").read_text(), re.MULTILINE)


def test_the_version_is_the_same_everywhere() -> None:
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d[^\]]*)\] - \d{4}-\d\d-\d\d$", _changes(), re.MULTILINE)
    assert released[0] == version


def _changes() -> str:
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_wheels_are_tested_by_a_program_that_solves_and_differentiates() -> None:
    assert SETTINGS["tool"]["cibuildwheel"]["test-command"] == "python {project}/tests/smoke.py"
    smoke.main()


def test_wheels_are_tested_on_every_python() -> None:
    built = {name.removesuffix("-*") for name in SETTINGS["tool"]["cibuildwheel"]["build"]}
    named = re.findall(r":: Python :: 3\.(\d+)", "\n".join(PROJECT["classifiers"]))
    assert built == {f"cp3{minor}" for minor in named}
