"""The kernels of a device: compiled once, kept for the process."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from sparsewood._cuda.program import Kernels, Program

_loaded: dict[tuple[Program, torch.device], Kernels] = {}
_emulator: Callable[[Program], Kernels] | None = None
_missing: str | None = None  # why there are no kernels, once that is known


def load(program: Program, device: torch.device) -> Kernels | None:
    """The kernels of `program` for `device`; None where it has none, and the host does the work."""
    if device.type != "cuda":
        return None if _emulator is None else _emulator(program)
    if _missing is not None:
        return None
    if device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    found = _loaded.get((program, device))
    return _compile(program, device) if found is None else found


def _compile(program: Program, device: torch.device) -> Kernels | None:
    global _missing
    try:
        from sparsewood._cuda.runtime import DeviceKernels

        kernels = _loaded[program, device] = DeviceKernels(program, device)
        return kernels
    except Exception as error:  # of cuda-core, of the driver, of the compiler
        _missing = str(error)
        warnings.warn(
            "CUDA tensors are worked on by the host, through copies: no kernels could be made "
            f"({_missing.splitlines()[0]}); pip install 'sparsewood[cuda]'",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


@contextmanager
def emulate(emulator: Callable[[Program], Kernels]) -> Iterator[None]:
    """Let CPU tensors take the path of CUDA tensors, with kernels of `emulator`: for tests."""
    global _emulator
    before, _emulator = _emulator, emulator
    try:
        yield
    finally:
        _emulator = before
