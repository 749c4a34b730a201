"""Recursions that run as kernels."""

from collections.abc import Iterator

import pytest

from sparsewood._internal import cuda
from tests.emulator import EmulatedKernels


@pytest.fixture(scope="class")
def emulated() -> Iterator[None]:
    """For conformance classes: CPU tensors use the code path of CUDA tensors."""
    with cuda.emulate(EmulatedKernels):
        yield
