"""The example of a path: the temperature of `max_support` is on it, and the picture is drawn."""

import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

PATH = Path(__file__).parents[2] / "examples" / "temperature_path.py"


def test_trees_enter_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(PATH), str(tmp_path / "path.svg")])
    found = runpy.run_path(str(PATH))
    path, post = found["path"], found["post"]
    assert path.sizes[:4].tolist() == [1, 2, 3, 4]
    assert float(post.temperature) == pytest.approx(float(path.temperatures[3]), rel=1e-9)
    assert len(post.weights) == 3
    assert post.converged
    assert "3 trees" in capsys.readouterr().out
    areas = ElementTree.parse(tmp_path / "path.svg").getroot().findall("{*}path")
    assert len(areas) == len(path.structures) + 4  # and four squares of their colours
