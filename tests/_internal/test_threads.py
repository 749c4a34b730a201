"""The number of threads."""

import subprocess
import sys

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import draw_scores


@pytest.fixture(autouse=True)
def restore():
    yield
    sp.set_num_threads(None)


def test_default_is_that_of_torch() -> None:
    assert sp.get_num_threads() == torch.get_num_threads()


def test_set_and_reset() -> None:
    sp.set_num_threads(3)
    assert sp.get_num_threads() == 3
    sp.set_num_threads(None)
    assert sp.get_num_threads() == torch.get_num_threads()


@pytest.mark.parametrize("bad", [0, -1, 1.5])
def test_bad_numbers(bad: int) -> None:
    with pytest.raises(ValueError, match="threads"):
        sp.set_num_threads(bad)


def test_results_do_not_depend_on_it() -> None:
    scores = draw_scores("normal", 16, (10, 11), seed=0)
    results = []
    for threads in (1, 2, 5):
        sp.set_num_threads(threads)
        results.append(sp.sparsemap(scores, sp.DependencyTrees()))
    for other in results[1:]:
        assert torch.equal(other.weights, results[0].weights)
        assert torch.equal(other.structures, results[0].structures)
        assert torch.equal(other.marginals, results[0].marginals)


# The stack of a thread is as large as RLIMIT_STACK was when the process began: some fit, 16 do not.
FEW_THREADS = """
import resource
import torch
import sparsewood as sp

scores = torch.randn(64, 12, 13, dtype=torch.float64, generator=torch.manual_seed(0))
sp.set_num_threads(1)
alone = sp.sparsemap(scores, sp.DependencyTrees())
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + (7 << 29)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
sp.set_num_threads(16)
together = sp.sparsemap(scores, sp.DependencyTrees())
assert torch.equal(alone.weights, together.weights)
print("done")
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_goes_on_where_the_system_refuses_threads() -> None:
    import resource

    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    if hard != resource.RLIM_INFINITY and hard < 1 << 30:
        pytest.skip("stacks may not be that large")

    def large_stacks() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 30, hard))

    done = subprocess.run(
        [sys.executable, "-c", FEW_THREADS],
        capture_output=True,
        text=True,
        preexec_fn=large_stacks,  # safe: no other thread of this process runs
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
