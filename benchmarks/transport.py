"""Best pairs of rows and columns with capacities, compared with SciPy and POT.

    python benchmarks/transport.py [--batch 32] [--repeats 3]

- Assignment: all capacities 1, against `scipy.optimize.linear_sum_assignment`.
- Transport of counts: 1 to 20 units per row, against POT's `ot.emd` of the same masses, and the
  smallest against the linear program by `scipy.optimize.linprog` (HiGHS).
- Clusters of equal size: each row to one of 10 columns, against `ot.emd` and against assignment to
  copies of the columns, as users of SciPy do it.
- Routing: each row to 2 of 16 columns, which take at most a quarter more than their share, against
  the linear program.

Scores are minus the distances of random points in a square. Every library gets one instance after
the other, in float64, with one thread. Times are processor time per instance, the best of the
repeats. The run fails if the best scores differ by more than 1e-9 of
their size. Without POT (`pip install POT`) its column is empty.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import eye, kron, vstack
from timing import target, threads
from torch import Tensor

import sparsewood as sp

Solve = Callable[[np.ndarray], float]  # the best score of one instance (n, m)


@dataclass
class Problem:
    """Scores (B, n, m), the family, and what other libraries make of it."""

    name: str
    scores: Tensor
    structure: sp.Transport
    scipy: Solve | None
    pot: Solve | None


def distances(batch: int, n: int, m: int) -> Tensor:
    rows, columns = (torch.rand(batch, k, 2, dtype=torch.float64) for k in (n, m))
    return -torch.cdist(rows, columns)


def by_assignment(scores: np.ndarray) -> float:
    rows, columns = linear_sum_assignment(scores, maximize=True)
    return float(scores[rows, columns].sum())


def by_copies(scores: np.ndarray) -> float:
    return by_assignment(np.repeat(scores, len(scores) // scores.shape[1], 1))


def by_pot(rows: np.ndarray, columns: np.ndarray) -> Solve | None:
    try:
        ot = import_module("ot")
    except ImportError:
        return None
    total = rows.sum()
    a, b = rows / total, columns / total

    def solve(scores: np.ndarray) -> float:
        return float((ot.emd(a, b, -scores, numItermax=10_000_000) * scores).sum() * total)

    return solve


def by_program(structure: sp.Transport) -> Solve:
    def solve(scores: np.ndarray) -> float:
        n, m = scores.shape
        rows, columns = structure.bounds(n, m)
        sums = vstack([kron(eye(n), np.ones((1, m))), kron(np.ones((1, n)), eye(m))]).tocsr()
        least, most = np.array([*rows, *columns]).T
        limit = structure.pair_capacity
        found = linprog(
            -scores.ravel(),
            vstack([sums, -sums]),
            np.concatenate([most, -least]),
            bounds=(0, limit),
        )
        return -float(found.fun)

    return solve


def problems(batch: int) -> list[Problem]:
    found = []
    for n in (50, 200, 1000):
        ones = np.ones(n)
        scores = distances(max(1, batch * 50 // n), n, n)
        pot = by_pot(ones, ones)
        found.append(Problem("assignment", scores, sp.Transport(1, 1), by_assignment, pot))
    for n in (50, 200, 500):
        rows = np.random.default_rng(n).integers(1, 21, n)
        columns = np.bincount(np.arange(rows.sum()) % n, minlength=n)
        flows = sp.Transport(torch.tensor(rows), torch.tensor(columns), pair_capacity=None)
        scores = distances(max(1, batch * 50 // n), n, n)
        pot = by_pot(rows.astype(float), columns.astype(float))
        program = by_program(flows) if n == 50 else None  # takes minutes for larger ones
        found.append(Problem("counts", scores, flows, program, pot))
    for n in (200, 1000):
        even = by_pot(np.ones(n), np.full(10, n / 10))
        clusters = sp.Transport(1, n // 10)
        found.append(Problem("clusters", distances(batch, n, 10), clusters, by_copies, even))
    for n in (64, 512):
        routes = sp.Transport(2, n * 2 * 5 // (16 * 4), column_least=0)
        found.append(Problem("routing", distances(batch, n, 16), routes, by_program(routes), None))
    return found


def milliseconds(solve: Callable[[int], object], count: int, repeats: int) -> float:
    """Processor time of `solve(b)`, the mean over instances, the best of the repeats."""
    best = float("inf")
    for _ in range(repeats + 1):  # the first warms up
        start = time.process_time()
        for b in range(count):
            solve(b)
        best = min(best, time.process_time() - start)
    return 1000 * best / count


def row_of(problem: Problem, repeats: int) -> tuple[list[str], bool]:
    scores, count = problem.scores, len(problem.scores)
    tables = [one.numpy() for one in scores]
    best = sp.map(scores, problem.structure).scores.numpy()
    own = milliseconds(lambda b: sp.map(scores[b : b + 1], problem.structure), count, repeats)
    row, good = [problem.name, " x ".join(map(str, scores.shape)), f"{own:.2f}"], True
    for peer in (problem.scipy, problem.pot):
        if peer is None:
            row += ["", ""]
            continue
        good &= bool(np.allclose([peer(table) for table in tables], best, rtol=1e-9, atol=1e-9))
        theirs = milliseconds(lambda b, peer=peer: peer(tables[b]), count, repeats)
        row += [f"{theirs:.2f}", target(theirs / own, None, True)]
    return row, good


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(0)
    columns = ("sparsewood", "SciPy", "ratio", "POT", "ratio")
    table = Table("problem", "size", *columns, title="best pairs, ms per instance")
    good = True
    with threads(1):
        for problem in problems(args.batch):
            row, agrees = row_of(problem, args.repeats)
            good &= agrees
            table.add_row(*row)
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(table)
    if not good:
        console.print("[red]The best scores differ.[/]")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
