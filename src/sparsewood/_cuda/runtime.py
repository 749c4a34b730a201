"""Compiling with NVRTC and launching, both through cuda-core."""

from functools import lru_cache
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from sparsewood._cuda.cache import read, write
from sparsewood._cuda.program import Argument, Program, digest, headers

core: Any = import_module("cuda.core")
driver: Any = import_module("cuda.bindings.driver")
nvrtc: Any = import_module("cuda.bindings.nvrtc")

_STATIC_SHARED = 48 * 1024  # bytes; a kernel that wants more has to say so
_STANDARD = "c++17"


class DeviceKernels:
    """The kernels of a program on one GPU."""

    def __init__(self, program: Program, device: torch.device) -> None:
        self.device = device
        torch.cuda.init()
        major, minor = torch.cuda.get_device_capability(device)
        with torch.cuda.device(device):
            core.Device(device.index).set_current()
            module = core.ObjectCode.from_cubin(_cubin(program, f"sm_{major}{minor}"))
            self._kernels = {name: module.get_kernel(name) for name in program.kernels}
        self._shared = dict.fromkeys(program.kernels, _STATIC_SHARED)

    def launch(
        self, kernel: str, grid: int, block: int, *arguments: Argument, shared: int = 0
    ) -> None:
        """See `Kernels.launch`."""
        if grid == 0:
            return
        if shared > self._shared[kernel]:
            self._allow(kernel, shared)
        values = [a.data_ptr() if isinstance(a, Tensor) else a for a in arguments]
        config = _config(grid, block, shared)
        if torch.cuda.current_device() == self.device.index:
            self._start(kernel, config, values)
        else:
            with torch.cuda.device(self.device):
                self._start(kernel, config, values)

    def _start(self, kernel: str, config: Any, values: list[int | float]) -> None:
        stream = _stream(torch.cuda.current_stream(self.device).cuda_stream)
        core.launch(stream, config, self._kernels[kernel], *values)

    def _allow(self, kernel: str, shared: int) -> None:
        """Let blocks of a kernel have so much dynamic shared memory."""
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        handle = driver.CUkernel(int(self._kernels[kernel].handle))
        (error,) = driver.cuKernelSetAttribute(
            attribute, shared, handle, driver.CUdevice(self.device.index)
        )
        if error != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"{kernel}: {shared} bytes of shared memory: {error.name}")
        self._shared[kernel] = shared


@lru_cache(maxsize=4096)
def _config(grid: int, block: int, shared: int) -> Any:
    return core.LaunchConfig(grid=grid, block=block, shmem_size=shared)


@lru_cache(maxsize=64)
def _stream(handle: int) -> Any:
    return core.Stream.from_handle(handle)


def _cubin(program: Program, arch: str) -> bytes:
    """The machine code of a program, from the cache on disk or compiled."""
    _, major, minor = nvrtc.nvrtcVersion()
    name = digest(program, arch, f"NVRTC {major}.{minor}", _STANDARD) + ".cubin"
    code = read(name)
    if code is None:
        code = compile_program(program, arch)
        write(name, code)
    return code


def compile_program(program: Program, arch: str) -> bytes:
    """The machine code of a program for an architecture such as sm_90."""
    options = core.ProgramOptions(std=_STANDARD, arch=arch, include_path=str(headers()))
    return bytes(core.Program(program.source, "c++", options).compile("cubin").code)
