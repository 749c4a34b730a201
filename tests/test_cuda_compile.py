"""The kernels compile as device code: without a GPU, and without headers of the host."""

import importlib
import shutil
import subprocess
from pathlib import Path

import pytest

from sparsewood._internal import cuda_forest
from sparsewood._internal.cuda import Program
from sparsewood._internal.cuda.program import headers
from sparsewood.inference._kernels import _JACOBIAN
from sparsewood.nn import _cuda_between, _cuda_bilstm, _cuda_levels, _cuda_pairs
from sparsewood.structures._kernels import FAMILIES, program
from sparsewood.structures.recursions import (
    segment_kernels,
    shifted,
    spanning_tree_samples,
    tree_kernels,
)
from sparsewood.structures.recursions.chart_kernels import CHARTS, chart_program

PROGRAMS = {f"solve-{family}": program(family, (0, 0), "solve") for family in FAMILIES}
del PROGRAMS["solve-paths"]  # kernels take no graphs
PROGRAMS |= {
    "argmax": program("trees", (0, 0), "argmax"),
    "kbest": program("trees", (0, 0), "kbest"),
    "jacobian": _JACOBIAN,
    "forest": cuda_forest._PROGRAM,
    "lstm": _cuda_levels._program("lstm"),
    "gru": _cuda_levels._program("gru"),
    "bilstm": _cuda_bilstm._PROGRAM,
    "pairs": _cuda_pairs._PROGRAM,
    "between": _cuda_between._PROGRAM,
    "segment-sums": segment_kernels._PROGRAM,
    "tree-sums": tree_kernels._PROGRAM,
    "tree-samples": spanning_tree_samples._PROGRAM,
    "shift": shifted._PROGRAM,
}
PROGRAMS |= {f"chart-{chart}": chart_program(chart) for chart in CHARTS}
every_program = pytest.mark.parametrize("kernels", PROGRAMS.values(), ids=PROGRAMS)


@pytest.mark.full
@every_program
def test_nvcc(kernels: Program, tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not on PATH")
    # Nothing runs, so nothing is optimised; sm_80 needs no GPU to be present.
    options = "-std=c++17 -arch=sm_80 -Xcicc -O0 -Xptxas -O0 -Werror all-warnings -c -o".split()
    source = tmp_path / "check.cu"
    source.write_text(kernels.source)
    found = subprocess.run(
        [nvcc, f"-I{headers()}", *options, str(tmp_path / "check.o"), str(source)],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr


@every_program
def test_nvrtc(kernels: Program) -> None:
    """At run time, from source, as in use."""
    try:
        nvrtc = importlib.import_module("cuda.bindings.nvrtc")
        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"NVRTC is not installed (pip install cuda-core[cu13]): {error}")
    _, made = nvrtc.nvrtcCreateProgram(kernels.source.encode(), b"check.cu", 0, [], [])
    options = ["-std=c++17", "--gpu-architecture=compute_80", "--device-debug", f"-I{headers()}"]
    (result,) = nvrtc.nvrtcCompileProgram(made, len(options), [o.encode() for o in options])
    _, size = nvrtc.nvrtcGetProgramLogSize(made)
    log = bytearray(size)
    nvrtc.nvrtcGetProgramLog(made, log)
    nvrtc.nvrtcDestroyProgram(made)
    assert result == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
