"""Compilation with NVRTC through cuda-core, and launches with the driver API."""

from array import array
from collections.abc import Sequence
from importlib import import_module
from struct import pack, unpack
from threading import local
from typing import Any

import torch
from torch import Tensor

from sparsewood._internal.cuda.cache import read, write
from sparsewood._internal.cuda.program import Argument, Program, Start, digest, headers

core: Any = import_module("cuda.core")
driver: Any = import_module("cuda.bindings.driver")
nvrtc: Any = import_module("cuda.bindings.nvrtc")

_STATIC_SHARED = 48 * 1024  # bytes; kernels must opt in to more
_STANDARD = "c++17"
_SUCCESS = driver.CUresult.CUDA_SUCCESS

_thread = local()  # `device`: the device whose context is current in a thread


def _enter(device: int) -> None:
    """Make PyTorch's context of a device current, as new threads have no context."""
    if getattr(_thread, "device", None) != device:
        core.Device(device).set_current()
        _thread.device = device


class DeviceKernels:
    """The kernels of a program on one GPU."""

    def __init__(self, program: Program, device: torch.device) -> None:
        self.device = device
        torch.cuda.init()
        major, minor = torch.cuda.get_device_capability(device)
        with torch.cuda.device(device):
            _enter(device.index)
            module = core.ObjectCode.from_cubin(_cubin(program, f"sm_{major}{minor}"))
            self._kernels = {name: module.get_kernel(name) for name in program.kernels}
        self._handles = {
            name: driver.CUfunction(int(kernel.handle)) for name, kernel in self._kernels.items()
        }
        self._shared = dict.fromkeys(program.kernels, _STATIC_SHARED)

    def launch(
        self, kernel: str, grid: int, block: int, *arguments: Argument, shared: int = 0
    ) -> None:
        """See `Kernels.launch`."""
        self.prepare(kernel, block, *arguments, shared=shared)(grid)

    def prepare(
        self, kernel: str, block: int, *arguments: Argument, last: int = 0, shared: int = 0
    ) -> Start:
        """See `Kernels.prepare`."""
        if shared > self._shared[kernel]:
            self._allow(kernel, shared)
        # `torch.cuda.current_stream` creates an object, which takes as long as the launch.
        stream = torch._C._cuda_getCurrentRawStream(self.device.index)
        start = Prepared(self._handles[kernel], block, shared, stream, arguments, last)
        if torch.cuda.current_device() == self.device.index:
            _enter(self.device.index)
            return start

        def elsewhere(grid: int, *given: int) -> None:
            with torch.cuda.device(self.device):
                _enter(self.device.index)
                start(grid, *given)

        return elsewhere

    def _allow(self, kernel: str, shared: int) -> None:
        """Allow blocks of a kernel this much dynamic shared memory."""
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        handle = driver.CUkernel(int(self._kernels[kernel].handle))
        (error,) = driver.cuKernelSetAttribute(
            attribute, shared, handle, driver.CUdevice(self.device.index)
        )
        if error != _SUCCESS:
            raise RuntimeError(f"{kernel}: {shared} bytes of shared memory: {error.name}")
        self._shared[kernel] = shared


class Prepared:
    """A launch whose arguments, except the last ones, are packed once for the driver."""

    def __init__(
        self,
        handle: Any,
        block: int,
        shared: int,
        stream: int,
        arguments: Sequence[Argument],
        last: int,
    ) -> None:
        self.handle, self.arguments, self.fixed = handle, arguments, len(arguments)
        count = self.fixed + last
        self.values = array("q", [*map(_bits, arguments), *[0] * last])
        begin = self.values.buffer_info()[0]
        self.places = array("q", range(begin, begin + 8 * count, 8))
        places = self.places.buffer_info()[0]
        self.config = (1, 1, block, 1, 1, shared, driver.CUstream(stream), places, 0)

    def __call__(self, grid: int, *last: int) -> None:
        if grid == 0:
            return
        for place, value in enumerate(last, self.fixed):
            self.values[place] = value
        (error,) = driver.cuLaunchKernel(self.handle, grid, *self.config)
        if error != _SUCCESS:
            raise RuntimeError(f"{grid} blocks of {self.config[2]} threads: {error.name}")


def _bits(argument: Argument) -> int:
    """The 8 bytes of an argument as an integer."""
    if isinstance(argument, Tensor):
        return argument.data_ptr()
    return unpack("q", pack("d", argument))[0] if isinstance(argument, float) else argument


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
