"""The kernels of a device: compiled once, kept for the process."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module

import torch

from sparsewood._internal.cuda.program import Kernels, Program
from sparsewood._internal.extras import how_to_install

_loaded: dict[tuple[Program, torch.device], Kernels | None] = {}  # None: it could not be made
_emulator: Callable[[Program], Kernels] | None = None


def load(program: Program, device: torch.device) -> Kernels | None:
    """The kernels of `program` for `device`; None where it has none, and the host does the work."""
    if device.type != "cuda":
        return None if _emulator is None else _emulator(program)
    if device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    if (program, device) not in _loaded:
        _loaded[program, device] = _compile(program, device) if _has_runtime() else None
    return _loaded[program, device]


@cache
def _has_runtime() -> bool:
    """Whether cuda-core is there; a warning if not."""
    try:
        import_module("sparsewood._internal.cuda.runtime")
    except Exception as error:  # of cuda-core, of the driver
        _warn(f"cuda-core cannot be used ({error}): {how_to_install('cuda')}")
        return False
    return True


def _compile(program: Program, device: torch.device) -> Kernels | None:
    from sparsewood._internal.cuda.runtime import DeviceKernels

    try:
        return DeviceKernels(program, device)
    except Exception as error:  # of the compiler, of the driver
        _warn(f"the kernels {', '.join(program.kernels)} could not be made: {error}")
        return None


def _warn(why: str) -> None:
    message = f"CUDA tensors are worked on by the host, through copies: {why}"
    warnings.warn(message, RuntimeWarning, stacklevel=4)


@contextmanager
def emulate(emulator: Callable[[Program], Kernels]) -> Iterator[None]:
    """Let CPU tensors take the path of CUDA tensors, with kernels of `emulator`: for tests."""
    global _emulator
    before, _emulator = _emulator, emulator
    try:
        yield
    finally:
        _emulator = before
