"""Threads that wait go to sleep soon, unless the caller wants something else."""

import os
import subprocess
import sys

import pytest

from sparsewood.lab._waiting import wait_briefly


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"GOMP_SPINCOUNT": "1000"}),
        ({"GOMP_SPINCOUNT": "7"}, {"GOMP_SPINCOUNT": "7"}),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, {"OMP_WAIT_POLICY": "ACTIVE"}),
    ],
)
def test_what_is_set(given: dict[str, str], expected: dict[str, str]) -> None:
    wait_briefly(given)
    assert given == expected


@pytest.mark.skipif(sys.platform != "linux", reason="PyTorch brings GCC's OpenMP on Linux alone")
def test_the_command_sets_it_before_torch_is_loaded() -> None:
    kept = {name: value for name, value in os.environ.items() if "OMP" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "sparsewood", "train", "listops", "--help"],
        env={**kept, "OMP_DISPLAY_ENV": "VERBOSE"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "GOMP_SPINCOUNT = '1000'" in done.stderr
