"""Kernels for CUDA tensors, compiled when first used from the headers that the package ships.

A `Program` is a source and the names of its kernels; `load` gives its `Kernels` for a device, or
None where there is no such path: a CPU, or a machine without cuda-core (the extra `[cuda]`), of
which one warning tells. What needs a kernel then works on the host.
"""

from sparsewood._internal.cuda.loader import emulate, load
from sparsewood._internal.cuda.program import Argument, Kernels, Program, Start

__all__ = ["Argument", "Kernels", "Program", "Start", "emulate", "load"]
