"""The code path of CUDA tensors, run by the emulator and, if there is one, by a GPU."""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from sparsewood._internal import cuda
from sparsewood._internal.cuda import cache, loader, program
from tests.emulator import ORDERS, EmulatedKernels, kernels_at

SOURCE = """
#include "cuda/block.cuh"

extern "C" __global__ void add_blocks(const double* x, int64_t n, double scale, double* out) {
    double* sums = reinterpret_cast<double*>(sparsewood::dynamic_shared());
    int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = i < n ? x[i] * scale : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

extern "C" __global__ void warp_sums(const int64_t* x, int64_t* out, int64_t* above) {
    int v = static_cast<int>(x[threadIdx.x]);
    int total = v;
    for (int d = 16; d > 0; d >>= 1) total += __shfl_xor_sync(~0u, total, d);
    unsigned seen = __ballot_sync(~0u, v > 3);
    out[threadIdx.x] = total;
    above[threadIdx.x] = __popc(seen);
}

extern "C" __global__ void set_place(int64_t* out, double scale, int64_t at, int64_t value) {
    out[at] = static_cast<int64_t>(scale * value);
}
"""
PROGRAM = cuda.Program(SOURCE, ("add_blocks", "warp_sums", "set_place"))


@pytest.fixture(params=[*ORDERS, "cuda"])
def place(request: pytest.FixtureRequest) -> tuple[cuda.Kernels, torch.device]:
    return kernels_at(PROGRAM, request.param)


def test_blocks_and_shared_memory(place: tuple[cuda.Kernels, torch.device]) -> None:
    kernels, device = place
    x = torch.randn(500, dtype=torch.float64, device=device)
    out = torch.empty(4, dtype=torch.float64, device=device)
    kernels.launch("add_blocks", 4, 128, x, 500, 0.5, out, shared=128 * 8)
    expected = torch.cat([x, x.new_zeros(12)]).reshape(4, 128).sum(1) / 2
    torch.testing.assert_close(out, expected)


def test_a_launch_prepared_once_and_started_often(
    place: tuple[cuda.Kernels, torch.device],
) -> None:
    kernels, device = place
    out = torch.zeros(6, dtype=torch.int64, device=device)
    start = kernels.prepare("set_place", 1, out, 2.5, last=2)
    for at in range(1, 6):
        start(1, at, 10 * at)
    start(0, 0, 1)  # no blocks: nothing happens
    assert out.tolist() == [0, 25, 50, 75, 100, 125]


def test_warps(place: tuple[cuda.Kernels, torch.device]) -> None:
    kernels, device = place
    x = torch.randint(10, (64,), device=device)
    out, above = torch.empty_like(x), torch.empty_like(x)
    kernels.launch("warp_sums", 1, 64, x, out, above)
    warps = x.reshape(2, 32)
    assert torch.equal(out, warps.sum(1).repeat_interleave(32))
    assert torch.equal(above, (warps > 3).sum(1).repeat_interleave(32))


def test_cpu_tensors_take_the_path_only_where_it_is_emulated() -> None:
    cpu = torch.device("cpu")
    assert cuda.load(PROGRAM, cpu) is None
    with cuda.emulate(EmulatedKernels):
        assert isinstance(cuda.load(PROGRAM, cpu), EmulatedKernels)
    assert cuda.load(PROGRAM, cpu) is None


@pytest.fixture
def no_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Starts without loaded kernels, and forgets them afterwards."""
    monkeypatch.setattr(loader, "_loaded", {})
    loader._has_runtime.cache_clear()
    yield
    loader._has_runtime.cache_clear()


@pytest.mark.usefixtures("no_memory")
def test_one_warning_without_cuda_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sparsewood._internal.cuda.runtime", None)
    device = torch.device("cuda", 0)
    with pytest.warns(RuntimeWarning, match=r"to the host.*pip install 'cuda-core"):
        assert cuda.load(PROGRAM, device) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cuda.load(PROGRAM, device) is None
        assert cuda.load(cuda.Program("", ()), device) is None


@pytest.mark.usefixtures("no_memory")
def test_one_warning_for_a_program_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    class Runtime(ModuleType):
        @staticmethod
        def DeviceKernels(program: cuda.Program, device: torch.device) -> str:  # noqa: N802
            if program is PROGRAM:
                raise RuntimeError("no such architecture")
            return "kernels"

    monkeypatch.setitem(sys.modules, "sparsewood._internal.cuda.runtime", Runtime("runtime"))
    device = torch.device("cuda", 0)
    with pytest.warns(RuntimeWarning, match=r"add_blocks.*could not be compiled: no such"):
        assert cuda.load(PROGRAM, device) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cuda.load(PROGRAM, device) is None
        assert cuda.load(cuda.Program("", ()), device) == "kernels"


def test_the_cache_keeps_whole_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARSEWOOD_CACHE", str(tmp_path / "kernels"))
    assert cache.read("a.cubin") is None
    cache.write("a.cubin", b"code")
    assert cache.read("a.cubin") == b"code"
    assert [path.name for path in (tmp_path / "kernels").iterdir()] == ["a.cubin"]
    monkeypatch.setenv("SPARSEWOOD_CACHE", str(tmp_path / "kernels" / "a.cubin" / "below"))
    cache.write("b.cubin", b"code")  # a file has the name of the folder
    assert cache.read("b.cubin") is None


def test_the_digest_tells_programs_and_targets_apart() -> None:
    other = cuda.Program(SOURCE + "int more;\n", PROGRAM.kernels)
    names = [
        program.digest(PROGRAM, "sm_90"),
        program.digest(PROGRAM, "sm_80"),
        program.digest(other, "sm_90"),
    ]
    assert len(set(names)) == 3
    assert (program.headers() / "cuda" / "block.cuh").is_file()
