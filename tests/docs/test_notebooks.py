"""The notebooks run, and their saved outputs are up to date."""

import json
import os
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NAMES = ("which_estimator",)
QUICK = {"SPARSEWOOD_STEPS": "2", "SPARSEWOOD_SEEDS": "2"}


def code_cells(folder: Path, name: str) -> list[dict[str, Any]]:
    notebook = json.loads((folder / f"{name}.ipynb").read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the notebooks, executed in a separate process."""
    out = tmp_path_factory.mktemp("notebooks")
    command = [sys.executable, str(FOLDER / "execute.py"), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **QUICK})
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_those_of_the_cells(name: str) -> None:
    for number, cell in enumerate(code_cells(FOLDER, name), 1):
        source = "".join(cell["source"]).encode()
        stale = f"{name}: cell {number} has changed: python docs/notebooks/execute.py"
        assert cell["metadata"]["ran"] == blake2b(source, digest_size=8).hexdigest(), stale
        assert cell["execution_count"] == number, stale
        kinds = {output["output_type"] for output in cell["outputs"]}
        assert kinds <= {"stream", "display_data", "execute_result"}
        assert all(output.get("name") != "stderr" for output in cell["outputs"])


@pytest.mark.parametrize("name", NAMES)
def test_they_are_small(name: str) -> None:
    assert (FOLDER / f"{name}.ipynb").stat().st_size < 300_000


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_they_run(name: str, run: Path) -> None:
    ours, theirs = (code_cells(folder, name) for folder in (FOLDER, run))
    shapes = [
        [[output["output_type"] for output in c["outputs"]] for c in x] for x in (ours, theirs)
    ]
    assert shapes[0] == shapes[1]
