"""The core compiles without a warning, as CI asks of two compilers in a whole build."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[1] / "native"
FLAGS = "-std=c++17 -fsyntax-only -Wall -Wextra -Wsign-conversion -Werror".split()


def test_the_core_compiles_without_warnings(tmp_path: Path) -> None:
    """All families, and with them the solver and every header, in one unit."""
    compiler = os.environ.get("CXX", "c++")
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not on PATH")
    units = [*sorted((NATIVE / "families").glob("*.cpp")), *sorted(NATIVE.glob("[a-m]*.cpp"))]
    units = [unit for unit in units if not unit.name.startswith("bind")]
    source = tmp_path / "core.cpp"
    source.write_text("".join(f'#include "{unit}"\n' for unit in units))
    found = subprocess.run(
        [compiler, *FLAGS, f"-I{NATIVE}", str(source)], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr[:4000]
