"""The example of a user-defined structure passes the conformance kit."""

import inspect
import runpy
from pathlib import Path

import pytest

from sparsewood.testing import StructureConformance

PATH = Path(__file__).parents[2] / "examples" / "custom_structure.py"
Programme = runpy.run_path(str(PATH))["Programme"]


@pytest.mark.full
class TestProgramme(StructureConformance):
    structure = Programme([(9, 10), (9, 11), (10, 12), (11, 12), (10.5, 11.5)])
    sizes = (5, 5)
    has_empty = True
    shape = staticmethod(lambda n: (n,))


def test_it_shows_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(PATH))
    out = capsys.readouterr().out
    assert "72 programmes, 4 of them" in out
    assert "0.521  Trees, Sparsity, Demos, Closing" in out


def test_it_has_at_most_thirty_lines() -> None:
    lines = PATH.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("class Programme"))
    assert len(inspect.getblock([line + "\n" for line in lines[start:]])) <= 30
