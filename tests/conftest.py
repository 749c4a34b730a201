"""One thread per test process, and shared inputs."""

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import hypothesis
import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood._internal import cuda
from sparsewood.nn._composer import TreeComposer
from tests.emulator import EmulatedKernels

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Test processes share the cores: with several threads each they would wait for one another, a check
# of a second for a minute. The variable is for the processes that tests start.
os.environ["OMP_NUM_THREADS"] = "1"
# Some virtual machines report AMX but reject its instructions, which ends a process that multiplies
# bfloat16.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")
os.environ["MPLBACKEND"] = "agg"  # figures of examples open no window
torch.set_num_threads(1)
# Whether an example takes longer than a deadline depends on what else the machine is doing.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

TreeBatch = tuple[Tensor, Tensor, Tensor]  # heads (T, n), lengths (B,), instance (T,)


def _tree(kind: str, length: int, generator: torch.Generator) -> list[int]:
    if kind == "star":
        return [0] * length
    if kind == "chain":
        return list(range(length))
    order = torch.randperm(length, generator=generator).tolist()
    heads = [0] * length
    for position in range(1, length):
        draw = int(torch.randint(-1, position, (), generator=generator))
        heads[order[position]] = 0 if draw < 0 else order[draw] + 1
    return heads


def _draw_trees(kind: str, lengths: list[int], per_sentence: int, seed: int) -> TreeBatch:
    generator = torch.Generator().manual_seed(seed)
    width = max(lengths)
    rows, instance = [], []
    for b, length in enumerate(lengths):
        drawn = [_tree(kind, length, generator) for _ in range(per_sentence)]
        if kind == "duplicates":
            drawn[1:] = [drawn[0]] * (per_sentence - 1)
        rows += [tree + [-1] * (width - length) for tree in drawn]
        instance += [b] * per_sentence
    return torch.tensor(rows), torch.tensor(lengths), torch.tensor(instance)


@pytest.fixture(scope="session")
def draw_trees() -> Callable[[str, list[int], int, int], TreeBatch]:
    """(kind, lengths, trees per sentence, seed) -> the arguments of `Forest.from_heads`.

    Kinds: "chain", "star", "random", and "duplicates" of one random tree.
    """
    return _draw_trees


def _check_recursion(
    net: TreeComposer,
    recursion: Callable[..., Tensor],
    heads: Tensor,
    sizes: Tensor,
    of: Tensor,
    *,
    weighted: bool = False,
) -> None:
    x = torch.randn(*sizes.shape, heads.shape[1], 3, dtype=torch.float64, requires_grad=True)
    edges = [torch.randn(heads.shape, dtype=x.dtype, requires_grad=True)] if weighted else []
    out = net(x, sp.Forest.from_heads(heads, sizes, of, weights=edges[0] if weighted else None))
    expected = torch.stack(
        [
            recursion(net, x[b], heads[t, : int(sizes[b])].tolist(), *(w[t] for w in edges))
            for t, b in enumerate(of.tolist())
        ]
    )
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    inputs = [x, *edges, *net.parameters()]
    ours = torch.autograd.grad((weights * out).sum(), inputs)
    theirs = torch.autograd.grad((weights * expected).sum(), inputs)
    for mine, wanted in zip(ours, theirs, strict=True):
        # rounding is relative to the terms, which are large for large weights
        atol = 1e-12 * max(1.0, wanted.abs().max().item())
        torch.testing.assert_close(mine, wanted, rtol=0, atol=atol)


@pytest.fixture(scope="session")
def check_recursion() -> Callable[..., None]:
    """(composer of 3 inputs, recursion, *trees): states, gradients agree to 1e-12 of their size.

    `recursion(composer, x (n, 3), heads)` gives the root state of one tree; with `weighted=True` it
    is given the weights (n,) of the tree's edges too.
    """
    return _check_recursion


@pytest.fixture(params=["emulated", "cuda"])
def device(request: pytest.FixtureRequest) -> Iterator[torch.device]:
    """A device whose tensors use CUDA kernels: an emulating CPU, and a GPU."""
    if request.param == "emulated":
        with cuda.emulate(EmulatedKernels):
            yield torch.device("cpu")
    elif torch.cuda.is_available():
        yield torch.device("cuda")
    else:
        pytest.skip("no GPU")


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Chromium, from Debian or installed by Playwright."""
    from tests.browser import open_browser

    yield from open_browser()


@pytest.fixture
def page(browser: "Browser") -> Iterator["Page"]:
    """An empty page; the test fails if it logs an error or makes a request."""
    from tests.browser import watched_page

    yield from watched_page(browser)
