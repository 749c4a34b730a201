"""Every example runs in an empty folder, like a download."""

import ast
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.full import some_quick

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
NAMES = [path.stem for path in EXAMPLES]
# Examples that no other test runs; the demo trains for minutes.
RUN = ("attachment", "factor_graph", "four_lines", "one_tree_at_a_time", "two_sentences")
LONGEST = 160  # lines, as stated in the gallery


def _imported(path: Path) -> set[str]:
    """The top-level modules that a program imports anywhere."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found.add((node.module or "").partition(".")[0])
    return found


def _run(name: str, folder: Path, *options: str) -> str:
    """The output of a copy of the example in an empty folder."""
    path = shutil.copy(next(p for p in EXAMPLES if p.stem == name), folder)
    keep = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SPARSEWOOD_DATA")}
    command = [sys.executable, str(path), *options]
    done = subprocess.run(command, cwd=folder, env=keep, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=NAMES)
def test_it_needs_nothing_beside_it(path: Path) -> None:
    imported = _imported(path)
    assert imported.isdisjoint(NAMES)
    assert all(find_spec(name) is not None for name in imported)
    assert len(path.read_text(encoding="utf-8").splitlines()) < LONGEST


@pytest.mark.parametrize("name", some_quick(RUN))
def test_it_runs_in_an_empty_folder(name: str, tmp_path: Path) -> None:
    assert _run(name, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.py"]


def test_the_demo_starts_in_an_empty_folder(tmp_path: Path) -> None:
    assert "--seed" in _run("demo", tmp_path, "--help")
