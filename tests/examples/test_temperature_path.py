"""The example of a path: the temperature of `max_support` is on it, and the weights are drawn."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

PATH = Path(__file__).parents[2] / "examples" / "temperature_path.py"


def test_trees_enter_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    found = runpy.run_path(str(PATH))
    path, post = found["path"], found["post"]
    assert path.sizes[:4].tolist() == [1, 2, 3, 4]
    assert float(post.temperature) == pytest.approx(float(path.temperatures[3]), rel=1e-9)
    assert len(post.weights) == 3
    assert post.converged
    assert "3 trees" in capsys.readouterr().out
    assert len(found["ax"].collections) == len(path.structures)  # an area for each
    plt.close("all")
