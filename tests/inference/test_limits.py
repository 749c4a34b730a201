"""Limits of the solver: a status or an error, never the end of the process."""

import ctypes
import subprocess
import sys
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import pytest
import torch

import sparsewood as sp
from sparsewood import _native
from sparsewood._internal import cuda
from sparsewood.inference import _kernels, generic
from sparsewood.testing import draw_scores
from tests.emulator import EmulatedKernels

TREES = sp.DependencyTrees()
Solver = Literal["native", "generic"]


def flat(n: int = 12) -> torch.Tensor:
    """Scores of trees that keep many structures."""
    return 0.01 * draw_scores("normal", 2, (n, n + 1), seed=0)


@pytest.fixture(params=["native", "generic"])
def limited(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Solver:
    """A solver with a low limit."""
    if request.param == "native":
        few = partial(_native.solve, most_structures=8)
        monkeypatch.setattr(_native, "solve", few)
    else:
        limits = generic.StopRule

        def few_steps(**given: Any) -> generic.StopRule:
            return replace(limits(**given), steps=8)

        monkeypatch.setattr(generic, "StopRule", few_steps)
    return request.param


def test_limit_of_the_solver(limited: Solver) -> None:
    post = sp.sparsemap(flat(), TREES, solver=limited)
    assert post.status.tolist() == [sp.Status.LIMITED] * 2
    assert not post.converged.any()
    exact = sp.sparsemap(flat(), TREES, solver="generic" if limited == "native" else "native")
    theta = flat()
    ours, best = (
        (theta * p.marginals).flatten(1).sum(1) - p.marginals.square().flatten(1).sum(1) / 2
        for p in (post, exact)
    )
    assert (best - ours <= post.gap + 1e-12).all()  # what the gap promises
    with pytest.raises(sp.UnconvergedError, match="2 limited; .*, limited at a gap of"):
        sp.sparsemap(flat(), TREES, solver=limited, on_unconverged="raise")


def test_limit_of_kernels(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernels, "MOST_STRUCTURES", 8)
    post = sp.sparsemap(flat(6).to(device), TREES)
    assert post.status.tolist() == [sp.Status.LIMITED] * 2
    best = sp.sparsemap(flat(6), TREES, solver="generic")
    assert (post.gap > 0).all()
    assert (best.sizes > 8).all()


def test_a_cap_comes_first(limited: Solver) -> None:
    post = sp.sparsemap(flat(), TREES, solver=limited, max_active=3)
    assert post.status.tolist() == [sp.Status.CAPPED] * 2


# Not enough for 3,000 structures, whose factor takes 36 MB.
LITTLE_MEMORY = """
import resource
import torch
import sparsewood as sp

sp.set_num_threads(1)
scores = 0.01 * torch.randn(1, 60, 61, dtype=torch.float64, generator=torch.manual_seed(0))
sp.sparsemap(scores[:, :5, :6], sp.DependencyTrees())
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + (24 << 20)
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (most, hard))
post = sp.sparsemap(scores, sp.DependencyTrees())
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
print(str(sp.Status(int(post.status))), int(post.sizes) > 500, float(post.weights.min()) > 0)
u = post.marginals
value = (scores * u).sum() - u.square().sum() / 2
exact = sp.sparsemap(scores, sp.DependencyTrees()).marginals
best = (scores * exact).sum() - exact.square().sum() / 2
print(float(best - value) <= float(post.gap))
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_memory_that_runs_out() -> None:
    done = subprocess.run([sys.executable, "-c", LITTLE_MEMORY], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "limited True True\nTrue\n"


def test_memory_that_every_answer_needs() -> None:
    trees = sp.DependencyTrees(projective=True, max_children=799)
    with pytest.raises(
        MemoryError,
        match=r"^a workspace of \d+ MiB does not fit .*scores has shape \(2, 800, 801\), "
        r"instance 0 has length 800\): use smaller .*max_active",
    ):
        sp.map(torch.zeros(2, 800, 801), trees)


MEMORY = cuda.Program(
    """
#include "group/memory.cpp"

extern "C" int64_t look(int64_t bytes) { return sparsewood::has_memory(bytes); }

extern "C" void nothing(int64_t) {}
""",
    ("nothing",),
)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not say")
def test_look_at_the_free_memory() -> None:
    """There is memory for a page more than a small piece, but not for an exabyte."""
    look = EmulatedKernels(MEMORY).library.look  # not on an emulated thread, whose stack is small
    for bytes_, expected in ((1 << 20, 1), ((1 << 28) + 4096, 1), (1 << 60, 0)):
        assert look(ctypes.c_int64(bytes_)) == expected, bytes_
