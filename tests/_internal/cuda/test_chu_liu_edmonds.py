"""The tree oracles of a warp, compared with the oracle of a CPU thread."""

import mmap
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood._internal import cuda
from sparsewood.inference.map import total_scores
from tests.emulator import ORDERS, kernels_at

SOURCE = """
#include "families/chu_liu_edmonds.h"
#include "families/chu_liu_edmonds_lanes.h"

using namespace sparsewood;

struct AnyRoots : ChuLiuEdmonds {
    __device__ bool operator()(const double* scores, int16_t* tree) {
        return argmax<false>(Warp(), scores, tree);
    }
};

struct OneRoot : ChuLiuEdmonds {
    __device__ bool operator()(const double* scores, int16_t* tree) {
        return argmax<true>(Warp(), scores, tree);
    }
};

struct Lanes : ChuLiuEdmondsLanes {
    __device__ bool operator()(const double* scores, int16_t* tree) {
        return argmax(Warp(), scores, tree);
    }
};

template <class Oracle>
__device__ void find(const double* scores, int64_t n, char* memory, int64_t share, int64_t* heads,
                     int64_t* found) {
    int64_t b = blockIdx.x;
    Oracle oracle;
    Arena arena{memory + b * share, Warp::size()};
    oracle.lay_out(arena, static_cast<int>(n));
    int16_t* tree = arena.take<int16_t>(n);
    bool is_there = oracle(scores + b * n * (n + 1), tree);
    for (int64_t i = threadIdx.x; is_there && i < n; i += 32) heads[b * n + i] = tree[i];
    if (threadIdx.x == 0) found[b] = is_there;
}

extern "C" __global__ void any_roots(const double* scores, int64_t n, char* memory, int64_t share,
                                     int64_t* heads, int64_t* found) {
    find<AnyRoots>(scores, n, memory, share, heads, found);
}

extern "C" __global__ void one_root(const double* scores, int64_t n, char* memory, int64_t share,
                                    int64_t* heads, int64_t* found) {
    find<OneRoot>(scores, n, memory, share, heads, found);
}

extern "C" __global__ void lanes(const double* scores, int64_t n, char* memory, int64_t share,
                                 int64_t* heads, int64_t* found) {
    find<Lanes>(scores, n, memory, share, heads, found);
}
"""
PROGRAM = cuda.Program(SOURCE, ("any_roots", "one_root", "lanes"))


def find(kernels: cuda.Kernels, scores: Tensor, kernel: str) -> tuple[Tensor, Tensor]:
    batch, n, _ = scores.shape
    share = 40 * n * n + 200 * n + 2000
    memory = torch.full((batch * share,), 77, dtype=torch.uint8, device=scores.device)
    heads = torch.full((batch, n), -7, device=scores.device)
    found = torch.full((batch,), -7, device=scores.device)
    own = torch.arange(1, n + 1, device=scores.device)
    table = scores.clone()
    table[:, own - 1, own] = -torch.inf
    kernels.launch(kernel, batch, 32, table.contiguous(), n, memory, share, heads, found)
    return heads, found


def _trees(kernel: str) -> sp.DependencyTrees:
    return sp.DependencyTrees(single_root=kernel == "one_root")


@pytest.mark.parametrize("place", [*ORDERS, "cuda"])
@pytest.mark.parametrize("kernel", PROGRAM.kernels)
@pytest.mark.parametrize("n", [1, 2, 5, 20, 31, 40])
def test_finds_what_a_thread_finds(place: str, kernel: str, n: int) -> None:
    kernels, device = kernels_at(PROGRAM, place)
    if kernel == "lanes" and n > 31:
        pytest.skip("a lane for each word")
    scores = torch.randn(6, n, n + 1, dtype=torch.float64, generator=torch.manual_seed(n))
    heads, found = find(kernels, scores.to(device), kernel)
    assert found.tolist() == [1] * 6
    assert torch.equal(heads.cpu(), _trees(kernel).argmax(scores))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 9),
    st.integers(0, 10_000),
    st.sampled_from(PROGRAM.kernels),
    st.sampled_from([0.0, 0.4, 0.7]),
)
def test_ties_and_forbidden_arcs(n: int, seed: int, kernel: str, forbidden: float) -> None:
    """Integer scores tie; then trees may differ, but not their scores."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randint(-2, 3, (1, n, n + 1), generator=generator).double()
    scores[torch.rand(scores.shape, generator=generator) < forbidden] = -torch.inf
    kernels, _ = kernels_at(PROGRAM, "shuffled")
    heads, found = find(kernels, scores, kernel)
    trees = _trees(kernel)
    try:
        best = sp.map(scores, trees)
    except ValueError:
        assert found.tolist() == [0]
        return
    assert found.tolist() == [1]
    assert trees.contains(heads, (n, n + 1)).all()
    assert torch.equal(total_scores(scores, heads, trees), best.scores)


# A CPU thread's, which a GPU's compiler is not given.
THREAD_SOURCE = """
#include "group/rows.cpp"

#include "families/chu_liu_edmonds.h"

using namespace sparsewood;

static int64_t polls;
void sparsewood::poll() { ++polls; }

template <bool SingleRoot>
void find(const double* scores, int64_t n, char* memory, int64_t* heads, int64_t* found) {
    polls = 0;
    ChuLiuEdmonds oracle;
    Arena arena{memory};
    oracle.lay_out(arena, static_cast<int>(n));
    int16_t* tree = arena.take<int16_t>(n);
    found[0] = oracle.argmax<SingleRoot>(Thread(), scores, tree);
    found[1] = polls;
    for (int64_t i = 0; i < n; ++i) heads[i] = tree[i];
}

extern "C" void any_roots(const double* scores, int64_t n, char* memory, int64_t, int64_t* heads,
                          int64_t* found) {
    find<false>(scores, n, memory, heads, found);
}

extern "C" void one_root(const double* scores, int64_t n, char* memory, int64_t, int64_t* heads,
                         int64_t* found) {
    find<true>(scores, n, memory, heads, found);
}
"""
THREAD_PROGRAM = cuda.Program(THREAD_SOURCE, ("any_roots", "one_root"))


def sparse_zeros(count: int, dtype: torch.dtype) -> Tensor:
    """Zeros that only take memory for pages that are written."""
    no_reserve = 0x4000  # of Linux
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve
    return torch.frombuffer(mmap.mmap(-1, count * dtype.itemsize, flags=flags), dtype=dtype)


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="pages of zeros that are shared")
@pytest.mark.parametrize(
    ("program", "kernel"),
    [(PROGRAM, "any_roots"), (THREAD_PROGRAM, "any_roots")],
)
def test_nodes_that_16_bits_do_not_number(program: cuda.Program, kernel: str) -> None:
    """Three cycles in a sentence of nearly maximum length, whose node indices exceed 16 bits.

    All other arcs score 0, and every word prefers the first of tied arcs, the arc from the root.
    """
    n = 32_766
    scores = sparse_zeros(n * (n + 1), torch.float64).view(1, n, n + 1)
    expected = torch.zeros(1, n, dtype=torch.int64)
    for first in (1, 3, 5):
        scores[0, first - 1, first + 1] = scores[0, first, first] = 1
        scores[0, first - 1, 0] = 0.5  # the cheaper word to take out of the cycle
        expected[0, first] = first
    share = 11 * n * (n + 1) + 200 * n
    memory = sparse_zeros(share, torch.uint8)
    heads, found = torch.full((1, n), -7), torch.full((2,), -7)
    kernels, _ = kernels_at(program, "rising")
    kernels.launch(
        kernel, 1, 32 if program is PROGRAM else 1, scores, n, memory, share, heads, found
    )
    assert found[0] == 1
    assert torch.equal(heads, expected)


@pytest.mark.parametrize("kernel", THREAD_PROGRAM.kernels)
def test_a_long_path_of_contractions_can_be_interrupted(kernel: str) -> None:
    """All words are on one path, each in a cycle with all previous words."""
    n = 500
    word = torch.arange(n)
    scores = torch.full((1, n, n + 1), -1000.0, dtype=torch.float64)
    scores[0, word[1:], word[1:]] = 0
    scores[0, word[:-1], word[:-1] + 2] = -1
    scores[0, :, 0] = -2000
    memory = torch.zeros(40 * n * n, dtype=torch.uint8)
    heads, found = torch.full((1, n), -7), torch.full((2,), -7)
    kernels, _ = kernels_at(THREAD_PROGRAM, "rising")
    kernels.launch(kernel, 1, 1, scores, n, memory, len(memory), heads, found)
    assert torch.equal(heads[0], word)
    assert found[1] > n // 100
