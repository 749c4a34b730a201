"""The kernels of a device, compiled once per process."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module

import torch

from sparsewood._internal.cuda.program import Kernels, Program
from sparsewood._internal.extras import how_to_install

_loaded: dict[tuple[Program, torch.device], Kernels | None] = {}  # None: compilation failed
_emulator: Callable[[Program], Kernels] | None = None


def load(program: Program, device: torch.device) -> Kernels | None:
    """The kernels of `program` for `device`. None: not available, so work on the host."""
    if device.type != "cuda":
        return None if _emulator is None else _emulator(program)
    if device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    if (program, device) not in _loaded:
        _loaded[program, device] = _compile(program, device) if _has_runtime() else None
    return _loaded[program, device]


@cache
def _has_runtime() -> bool:
    """Whether cuda-core is installed; warns if not."""
    try:
        import_module("sparsewood._internal.cuda.runtime")
    except Exception as error:  # from cuda-core or the driver
        _warn(f"cuda-core cannot be used ({error}): {how_to_install('cuda')}")
        return False
    return True


def _compile(program: Program, device: torch.device) -> Kernels | None:
    from sparsewood._internal.cuda.runtime import DeviceKernels

    try:
        return DeviceKernels(program, device)
    except Exception as error:  # from the compiler or the driver
        _warn(f"the kernels {', '.join(program.kernels)} could not be compiled: {error}")
        return None


def _warn(why: str) -> None:
    message = f"CUDA tensors are copied to the host and processed there: {why}"
    warnings.warn(message, RuntimeWarning, stacklevel=4)


@contextmanager
def emulate(emulator: Callable[[Program], Kernels]) -> Iterator[None]:
    """Run CPU tensors through the CUDA code path, with kernels of `emulator`: for tests."""
    global _emulator
    before, _emulator = _emulator, emulator
    try:
        yield
    finally:
        _emulator = before
