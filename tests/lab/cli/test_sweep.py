import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from sparsewood.lab.cli.sweep import read_space
from sparsewood.lab.data.sources import ListOps
from sparsewood.lab.run import Run, RunConfig

BASE = RunConfig(ListOps())


def test_all_values_are_tried(
    listops: list[str], prints: Callable[..., str], tmp_path: Path
) -> None:
    options = ("--space", "lr=0.1,0.2", "--estimator", "flat", "--out", tmp_path)
    text = prints("sweep", "listops", *listops, *options)
    assert text.count("complete") == 2
    assert (tmp_path / "trial-0001" / "result.json").is_file()
    said, command = text.splitlines()[-2:]
    found = re.fullmatch("train with the options of the best, trial ([01]):", said)
    assert found is not None
    again = tmp_path / "again"
    prints(*shlex.split(command)[1:], "--out", again)
    best = Run(tmp_path / f"trial-000{found[1]}")
    assert Run(again).config == best.config
    assert (tmp_path / "again" / "outcomes.json").read_bytes() == (
        best.folder / "outcomes.json"
    ).read_bytes()


def test_options_find_the_part_they_belong_to() -> None:
    space = [
        "lr=log:1e-3:1",
        "hidden=10,20",
        "estimator=given,sparsemap:max_active=5,tol=0.1,flat",
        "max-length=30",
    ]
    assert read_space(space, BASE) == {
        "training.lr": "log:1e-3:1",
        "model.hidden": [10, 20],
        "model.estimator": ["given", "sparsemap:max_active=5,tol=0.1", "flat"],
        "source.max_length": [30],
    }


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("lr", "expected OPTION=VALUES"),
        ("lrr=1", "did you mean 'lr'"),
        ("lr=", "OPTION=VALUES"),
        ("lr=a,1", "lr: expected float, got 'a'"),
    ],
)
def test_bad_spaces(entry: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_space([entry], BASE)


def test_bad_data_leaves_nothing(fails: Callable[..., str], tmp_path: Path) -> None:
    options = ("--space", "lr=0.1,0.2", "--out", tmp_path / "sweep")
    assert "no such folder" in fails("sweep", "sst", "--data", tmp_path / "absent", *options)
    assert "--trials: expected at least 1" in fails("sweep", "listops", *options, "--trials", "0")
    assert not list(tmp_path.iterdir())
