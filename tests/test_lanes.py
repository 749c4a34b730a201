"""The solver by the lanes of a warp, emulated, against the same by a CPU thread."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from sparsewood._cuda.program import Program
from tests.emulator import ORDERS, EmulatedKernels

SHARE = 1 << 22  # bytes of an instance


@dataclass(frozen=True)
class Case:
    """Instances of a family: how large, and in what array."""

    kernel: str
    size: tuple[int, ...]
    shape: tuple[int, ...]
    options: tuple[int, ...] = ()
    max_active: int = 0
    max_iter: int = 0
    crosses: bool = True
    room: int = 256
    scale: float = 1.0
    batch: int = 3


def trees(kernel: str, n: int, *options: int) -> Case:
    return Case(kernel, (n,), (n, n + 1), options)


CASES = {
    "trees": trees("trees", 9),
    "many words": replace(trees("trees", 36), batch=1),
    "single root": trees("single_root", 9),
    "projective": trees("projective", 8),
    "projective, single root": trees("projective_single_root", 8),
    "bounded": trees("bounded", 8, 0, 2),
    "labelled": Case("labelled", (6,), (6, 7, 3)),
    "labelled, projective": Case("labelled_projective", (6,), (6, 7, 3)),
    "matching": Case("matching", (7, 7), (7, 7)),
    "rectangular matching": Case("matching", (5, 8), (5, 8)),
    "partial matching": Case("partial_matching", (7, 6), (7, 6)),
    "warping": Case("warping", (6, 7), (6, 7)),
    "gapped": Case("gapped", (6, 7), (6, 7)),
    "binary trees": Case("binary_trees", (7,), (7, 7), (0,)),
    "labelled binary trees": Case("binary_trees", (5,), (5, 5, 3), (1,)),
    "chain": Case("chain", (7,), (7, 4, 5), (1,)),
    "chain, transitions free": Case("chain", (7,), (7, 4, 5), (0,)),
    "semi-Markov": Case("semi_markov", (7,), (7, 3, 6), (3, 1)),
    "semi-Markov, transitions free": Case("semi_markov", (7,), (7, 3, 6), (3, 0)),
    "simplex": Case("simplex", (40,), (40,)),
    "subset": Case("subset", (12,), (12,), (4, 4)),
    "at most": Case("subset", (12,), (12,), (0, 4)),
    "spanning trees": Case("spanning_trees", (7,), (7, 7)),
    "little room": replace(trees("trees", 12), room=8),
    "little room, one by one": replace(trees("trees", 10), room=8, crosses=False),
    "capped": replace(trees("trees", 12), max_active=4, crosses=False),
    "capped with crosses": replace(trees("trees", 9), max_active=12),
    "few iterations": replace(trees("trees", 9), max_iter=5),
    "large scores": replace(trees("trees", 9), scale=5.0),
    "small scores": replace(trees("trees", 9), scale=0.05),
}


@pytest.fixture(scope="module")
def program() -> Program:
    source = (Path(__file__).parent / "lanes.cuh").read_text()
    return Program(source, tuple(sorted({case.kernel for case in CASES.values()})))


def solve(program: Program, case: Case, scores: Tensor, order: str | None) -> tuple[Tensor, Tensor]:
    """Marginals and (status, calls, support, gap, noise, range), by a thread if there is no order."""
    batch, parts = scores.shape
    marginals = torch.zeros_like(scores)
    numbers = torch.full((batch, 6), float("nan"), dtype=torch.float64)

    def whole(values: tuple[int, ...]) -> Tensor:
        return torch.tensor([*values, 0, 0])

    EmulatedKernels(program, order or "rising").launch(
        case.kernel,
        batch,
        32 if order else 1,
        scores,
        whole(case.size),
        whole(case.shape),
        whole(case.options),
        parts,
        1e-9,
        case.max_active,
        case.max_iter,
        int(case.crosses),
        case.room,
        torch.full((batch * 2 * SHARE,), 0x5A, dtype=torch.uint8),
        SHARE,
        torch.empty(batch, 2 * parts, dtype=torch.float64),
        marginals,
        numbers,
    )
    return marginals, numbers


def draw(case: Case, kind: str) -> Tensor:
    """Normal scores, some of them forbidden, or small whole numbers that tie."""
    generator = torch.Generator().manual_seed(len(case.kernel) + case.size[0])
    shape = (case.batch, int(torch.tensor(case.shape).prod()))
    scores = case.scale * torch.randn(shape, generator=generator, dtype=torch.float64)
    if kind == "forbidden":
        scores[torch.rand(shape, generator=generator) < 0.1] = -torch.inf
    return scores.round() if kind == "ties" else scores


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", ["normal", "forbidden", "ties"])
def test_as_one_thread(program: Program, name: str, kind: str) -> None:
    case = CASES[name]
    scores = draw(case, kind)
    marginals, expected = solve(program, case, scores, None)
    for order in ORDERS if kind == "normal" else ["shuffled"]:
        found, numbers = solve(program, case, scores, order)
        assert torch.equal(numbers[:, 0], expected[:, 0])
        torch.testing.assert_close(found, marginals, atol=1e-12, rtol=0)
        torch.testing.assert_close(numbers[:, 3], expected[:, 3], atol=1e-12, rtol=0, equal_nan=True)
        if kind == "normal":
            assert torch.equal(numbers[:, 1:3], expected[:, 1:3])  # calls and support
