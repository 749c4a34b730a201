"""The core compiles without a warning; CI checks a whole build with two compilers."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[1] / "native"
ROOMS = ("families", "group", "solver")
FLAGS = "-std=c++17 -fsyntax-only -Wall -Wextra -Wsign-conversion -Werror".split()


@pytest.mark.full
def test_the_core_compiles_without_warnings(tmp_path: Path) -> None:
    """All families, and with them the solver and every header, in one unit."""
    compiler = os.environ.get("CXX", "c++")
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not on PATH")
    units = [unit for room in ROOMS for unit in sorted((NATIVE / room).glob("*.cpp"))]
    source = tmp_path / "core.cpp"
    source.write_text("".join(f'#include "{unit}"\n' for unit in units))
    found = subprocess.run(
        [compiler, *FLAGS, f"-I{NATIVE}", str(source)], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr[:4000]
