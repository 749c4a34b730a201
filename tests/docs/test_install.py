"""The tables of extras are those of pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
OURS = {"test", "lint", "docs", "dev", "wasm"}  # for development
ROW = re.compile(r"^\| `(\w+)` \| ([^|]*) \|", re.M)
ALONE = {"notebook", "pyepo", "jax", "cuda"}  # without `lab`


def _rows(page: str) -> dict[str, str]:
    """The first table of extras of a page: the packages of each."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return dict(ROW.findall(text.partition("| extra |")[2].partition("\n\n")[0]))


def _packages(extra: str) -> list[str]:
    names = [re.split(r"[\[<>=~ ]", line)[0] for line in EXTRAS[extra]]
    return [name for name in names if name != "sparsewood"]


@pytest.mark.parametrize(("page", "elsewhere"), [("README.md", "lab"), ("docs/install.md", "all")])
def test_no_extra_is_left_out(page: str, elsewhere: str) -> None:
    assert _rows(page).keys() == EXTRAS.keys() - OURS - {elsewhere}


def test_what_extras_bring() -> None:
    for extra, brought in _rows("docs/install.md").items():
        missing = [name for name in _packages(extra) if name.lower() not in brought.lower()]
        assert not missing, f"{extra}: {missing}"


def test_which_bring_the_workbench() -> None:
    users = EXTRAS.keys() - OURS - {"lab", "all"}
    assert {name for name in users if "sparsewood[lab]" not in EXTRAS[name]} == ALONE
    readme = _rows("README.md")
    assert {name for name in readme if "without `lab`" in readme[name]} == ALONE


def test_all_of_them() -> None:
    (line,) = EXTRAS["all"]
    named = set(line.removeprefix("sparsewood[").removesuffix("]").split(","))
    assert named == EXTRAS.keys() - OURS - {"lab", "all", "cuda"}
