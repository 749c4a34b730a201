"""Time and memory of SparseMAP on large instances of sets, alignments and spanning trees.

    python benchmarks/large.py [--only NAME ...] [--repeats 1]

One instance of normal scores per row, one thread. Each certificate is computed by another oracle.
Limits to compare with: the time of as many public MAP calls as the solve called the oracle, and the
bytes of the structures as int64 tables, which users get from `post.structures`. Peak memory is that
of the solve, without what the process held before (Linux only). The run fails if a solution is
wrong, never because of a time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from time import process_time

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.sparse.csgraph import minimum_spanning_tree
from timing import threads
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.base import NativeStructure

TOL = 1e-9
Slope = NDArray[np.float64]


@dataclass
class Case:
    """A structure, the shape of its scores, and the score of its best member by another oracle."""

    name: str
    structure: NativeStructure
    shape: tuple[int, ...]
    best_score: Callable[[Slope], float]


def best_sets(k: int | None) -> Callable[[Slope], float]:
    """Sets of `k` items, or of any number."""

    def best(slope: Slope) -> float:
        chosen = slope[slope > 0] if k is None else np.sort(slope)[-k:]
        return float(chosen.sum())

    return best


def best_tree(slope: Slope) -> float:
    """Spanning trees; only the lower triangle is read."""
    lower = np.tril(slope, -1)
    top = lower.max() + 1  # SciPy reads 0 as no edge, so all costs are made positive
    costs = np.where(np.tri(len(slope), k=-1, dtype=bool), top - lower, 0)
    return float(top * (len(slope) - 1) - minimum_spanning_tree(costs).sum())


def best_path(slope: Slope) -> float:
    """Warping paths, row by row."""
    before = np.cumsum(slope[0])
    for row in slope[1:]:
        enter = np.maximum(before, np.concatenate([[-np.inf], before[:-1]]))
        total = np.cumsum(row)
        before = total + np.maximum.accumulate(enter + row - total)
    return float(before[-1])


CASES = [
    Case("hypercube", sp.Hypercube(), (10_000,), best_sets(None)),
    Case("subsets of 500", sp.Subset(500), (30_000,), best_sets(500)),
    Case("subsets of 1,500", sp.Subset(1_500), (3_000,), best_sets(1_500)),
    Case("alignments", sp.Alignment(), (500, 500), best_path),
    *(Case("spanning trees", sp.SpanningTrees(), (n, n), best_tree) for n in (100, 200, 300)),
]


def memory(name: str) -> int | None:
    """A line of /proc/self/status in bytes; None: not on this system."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    (line,) = (line for line in status.read_text().splitlines() if line.startswith(name))
    return 1024 * int(line.split()[1])


def reset_peak() -> None:
    """Start a new peak of memory."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")


def solve(case: Case, scores: Tensor) -> tuple[sp.SparsePosterior, float, float | None]:
    """The solution, its processor time, and its peak of memory."""
    reset_peak()
    before, start = memory("VmRSS"), process_time()
    post = sp.sparsemap(scores, case.structure, tol=TOL)
    seconds, peak = process_time() - start, memory("VmHWM")
    return post, seconds, None if peak is None or before is None else peak - before


def add_row(table: Table, case: Case, repeats: int) -> bool:
    """Time one case; returns whether it is right."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(1, *case.shape, dtype=torch.float64, generator=generator)
    runs = [solve(case, scores) for _ in range(repeats)]
    post, seconds = runs[0][0], min(run[1] for run in runs)
    peak = runs[0][2]
    slope = (scores - post.marginals)[0]
    gap = case.best_score(slope.numpy()) - float((slope * post.marginals[0]).sum())
    start = process_time()
    case.structure.argmax(slope[None])
    oracle = int(post.calls) * (process_time() - start)
    tables = int(post.sizes) * 8 * prod(case.shape)
    span = float(scores.max() - scores.min())
    right = bool(post.converged) and gap <= TOL * span
    table.add_row(
        case.name, " x ".join(f"{side:,}" for side in case.shape), f"{seconds:.2f}",
        f"{seconds / oracle:.1f}", f"{int(post.sizes):,}", f"{int(post.calls):,}", f"{gap:.0e}",
        "-" if peak is None else f"{peak / 2**20:,.0f}", f"{tables / 2**20:,.0f}",
        "yes" if right else "NO",
    )  # fmt: skip
    return right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", help="names of structures")
    parser.add_argument("--repeats", type=int, default=1)
    run = parser.parse_args()
    table = Table(
        "structures", "parts", "CPU s", "/ MAP calls", "support", "calls", "gap", "peak MiB",
        "as tables MiB", "certified",
        title=f"One large instance, one thread; certified by another oracle at {TOL:g}",
    )  # fmt: skip
    right = True
    with threads(1):
        for case in CASES:
            if run.only is None or case.name in run.only:
                right &= add_row(table, case, run.repeats)
    Console(width=None if sys.stdout.isatty() else 130).print(table)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
