"""The example of an oracle from SciPy passes the conformance kit; Cayley counts its trees."""

import contextlib
import io
import runpy
from itertools import combinations
from pathlib import Path

import pytest
import torch

from sparsewood.testing import StructureConformance

PATH = Path(__file__).parents[2] / "examples" / "scipy_oracle.py"
OUT = io.StringIO()
with contextlib.redirect_stdout(OUT):
    SpanningTrees = runpy.run_path(str(PATH))["SpanningTrees"]


class Listed(SpanningTrees):
    """With all spanning trees of `n` nodes: sets of n - 1 edges without a cycle."""

    def enumerate(self, n: int) -> torch.Tensor:
        edges = list(combinations(range(n), 2))
        chosen = [
            c
            for c in combinations(range(len(edges)), n - 1)
            if not _cycle(n, [edges[e] for e in c])
        ]
        return torch.zeros(len(chosen), len(edges)).scatter(1, torch.tensor(chosen), 1).long()


def _cycle(n: int, edges: list[tuple[int, int]]) -> bool:
    component = list(range(n))
    for i, j in edges:
        a, b = component[i], component[j]
        if a == b:
            return True
        component = [a if c == b else c for c in component]
    return False


@pytest.mark.full
class TestSpanningTrees(StructureConformance):
    structure = Listed(4)
    sizes = (4, 4)
    shape = staticmethod(lambda n: (n * (n - 1) // 2,))


def test_count() -> None:
    assert [Listed(n).count(n) for n in (2, 3, 4, 5)] == [n ** (n - 2) for n in (2, 3, 4, 5)]


def test_many_samples_leave_the_true_tree() -> None:
    line = next(line for line in OUT.getvalue().splitlines() if line.startswith("2000 samples"))
    assert line.endswith("(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)")
    assert " 1 kept" in line
