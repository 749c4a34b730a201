"""CUDA kernels on the CPU: the same source, compiled by the system's C++ compiler.

Slow, but needs no GPU, and detects dependence on the order in which the threads of a block run.
"""

import ctypes
import fcntl
import os
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from torch import Tensor

from sparsewood._internal.cuda import Kernels, load
from sparsewood._internal.cuda.includes import as_compiled
from sparsewood._internal.cuda.program import Argument, Program, Start, headers

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "emulator"
SOURCES = HERE.parents[1] / "native"  # an installed package has only headers
# Undefined names belong to host functions in the headers, which no kernel calls.
FLAGS = "-std=c++17 -O1 -shared -fPIC -w".split()
ORDERS = {"rising": 0, "falling": 1, "shuffled": 2}


class EmulatedKernels:
    """The kernels of a program; their tensors are on the CPU."""

    def __init__(self, program: Program, order: str = "rising") -> None:
        self.order = ORDERS[order]
        self.library = ctypes.CDLL(str(_build(program)))
        self.launches: list[str] = []

    def launch(
        self, kernel: str, grid: int, block: int, *arguments: Argument, shared: int = 0
    ) -> None:
        """See `Kernels.launch`."""
        self.launches.append(kernel)
        boxes = [_box(argument) for argument in arguments]
        pointers = (ctypes.c_void_p * len(boxes))(*(ctypes.addressof(box) for box in boxes))
        run = getattr(self.library, f"emulate_{kernel}")
        sizes = (ctypes.c_int64(size) for size in (grid, block, shared))
        run(ctypes.c_int(self.order), ctypes.c_int(len(boxes)), pointers, *sizes)

    def prepare(
        self, kernel: str, block: int, *arguments: Argument, last: int = 0, shared: int = 0
    ) -> Start:
        """See `Kernels.prepare`."""

        def start(grid: int, *given: int) -> None:
            assert len(given) == last
            self.launch(kernel, grid, block, *arguments, *given, shared=shared)

        return start


def kernels_at(program: Program, place: str) -> tuple[Kernels, torch.device]:
    """Emulated with lanes in the order given by `place`, or on a GPU: "cuda"."""
    if place in ORDERS:
        return EmulatedKernels(program, place), torch.device("cpu")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    device = torch.device("cuda")
    kernels = load(program, device)
    assert kernels is not None
    return kernels, device


def _box(argument: Argument) -> ctypes.c_void_p | ctypes.c_double | ctypes.c_int64:
    if isinstance(argument, Tensor):
        assert argument.device.type == "cpu", argument.device
        return ctypes.c_void_p(argument.data_ptr())
    return ctypes.c_double(argument) if isinstance(argument, float) else ctypes.c_int64(argument)


@cache
def _build(program: Program) -> Path:
    """The library of a program, built once for all test processes."""
    compiler = [os.environ.get("CXX", "c++"), *FLAGS]
    starts = "\n".join(f"EMULATE({name})" for name in program.kernels)
    source = f'#include "cuda_on_cpu.h"\n{program.source}\n{starts}\n'
    folders = HERE, headers(), SOURCES
    text = " ".join(compiler) + as_compiled(source, *folders)
    path = BUILD / f"{sha256(text.encode()).hexdigest()[:32]}.so"
    BUILD.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            path.with_suffix(".cpp").write_text(source)
            _compile([*compiler, *(f"-I{folder}" for folder in folders)], path)
    return path


def _compile(command: list[str], path: Path) -> None:
    source, draft = path.with_suffix(".cpp"), path.with_suffix(".draft")
    done = subprocess.run([*command, str(source), "-o", str(draft)], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.fail(f"{source}:\n{done.stderr[:4000]}")
    draft.replace(path)
