"""The tables of extras are those of pyproject.toml."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
OURS = {"test", "lint", "docs", "dev", "wasm"}  # for development
ROW = re.compile(r"^\| `(\w+)` \| ([^|]*) \|", re.M)
ALONE = {"notebook", "pyepo", "jax", "cuda"}  # without `lab`


def _rows() -> dict[str, str]:
    """The table of extras: the packages of each."""
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    return dict(ROW.findall(text.partition("| extra |")[2].partition("\n\n")[0]))


def _packages(extra: str) -> list[str]:
    names = [re.split(r"[\[<>=~ ]", line)[0] for line in EXTRAS[extra]]
    return [name for name in names if name != "sparsewood"]


def test_no_extra_is_left_out() -> None:
    assert _rows().keys() == EXTRAS.keys() - OURS - {"all"}


def test_what_extras_bring() -> None:
    for extra, brought in _rows().items():
        missing = [name for name in _packages(extra) if name.lower() not in brought.lower()]
        assert not missing, f"{extra}: {missing}"


def test_which_bring_the_workbench() -> None:
    users = EXTRAS.keys() - OURS - {"lab", "all"}
    assert {name for name in users if "sparsewood[lab]" not in EXTRAS[name]} == ALONE


def test_all_of_them() -> None:
    (line,) = EXTRAS["all"]
    named = set(line.removeprefix("sparsewood[").removesuffix("]").split(","))
    assert named == EXTRAS.keys() - OURS - {"lab", "all", "cuda"}
