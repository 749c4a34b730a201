"""The headers in native/ compile as device code: the solver, the oracles and the Jacobian."""

import importlib
import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[1] / "native"
FAMILIES = sorted(path.name for path in (NATIVE / "families").glob("*.cpp"))
SOURCE = "\n".join(
    ['#include "cuda_check.cu"', *(f'#include "families/{name}"' for name in FAMILIES)]
)


def test_nvcc(tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not on PATH")
    # Nothing runs, so nothing is optimised; sm_80 needs no GPU to be present.
    options = "-std=c++17 -arch=sm_80 -Xcicc -O1 -Xptxas -O1 -Werror all-warnings -c -o".split()
    source = tmp_path / "check.cu"
    source.write_text(SOURCE)
    found = subprocess.run(
        [nvcc, f"-I{NATIVE}", *options, str(tmp_path / "check.o"), str(source)],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr


def test_nvrtc() -> None:
    """At run time, from source, as a GPU path would be compiled where no nvcc is installed."""
    try:
        nvrtc = importlib.import_module("cuda.bindings.nvrtc")
        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"NVRTC is not installed (pip install cuda-core[cu13]): {error}")
    _, program = nvrtc.nvrtcCreateProgram(SOURCE.encode(), b"check.cu", 0, [], [])
    options = ["-std=c++17", "--gpu-architecture=compute_80", "--device-debug", f"-I{NATIVE}"]
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), [o.encode() for o in options])
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = bytearray(size)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(program)
    assert result == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
