"""CUDA kernels, compiled on first use from the headers in the package.

A `Program` is a source and the names of its kernels. `load` returns its `Kernels` for a device, or
None if there are none: for the CPU, or without cuda-core (the extra `[cuda]`), with one warning.
The work is then done on the host.
"""

from sparsewood._internal.cuda.loader import emulate, load
from sparsewood._internal.cuda.program import Argument, Kernels, Program, Start

__all__ = ["Argument", "Kernels", "Program", "Start", "emulate", "load"]
