"""The cost of near-equal scores, which keep thousands of structures.

    python benchmarks/flat_scores.py [--cases trees-40 chain-30x10] [--limit 5]

The processor time of a solve is compared with that of one dense LAPACK solve of the final size,
which factors the overlaps of the final support once: a lower bound for an active set method, even
if it guessed the support. The run fails if a solution is not certified: its gap is computed by one
more call of the MAP oracle on `scores - marginals`, its marginals by the dense solve.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table
from timing import target, threads
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.base import Structure

TOL = 1e-9
FLAT = 0.01


def near_equal(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return FLAT * torch.randn(1, *shape, generator=generator, dtype=torch.float64)


def equal(*shape: int) -> Tensor:
    return torch.zeros(1, *shape, dtype=torch.float64)


CASES: dict[str, tuple[Callable[[], Tensor], Structure]] = {
    "trees-20": (lambda: near_equal(20, 21), sp.DependencyTrees()),
    "trees-40": (lambda: near_equal(40, 41), sp.DependencyTrees()),
    "trees-60": (lambda: near_equal(60, 61), sp.DependencyTrees()),
    "chain-30x10": (lambda: near_equal(30, 10, 11), sp.LinearChain(penalty="both")),
    "labelled-20x5": (lambda: equal(20, 21, 5), sp.LabelledDependencyTrees()),
    "labelled-40x3": (lambda: equal(40, 41, 3), sp.LabelledDependencyTrees()),
    "alignment-40x41": (lambda: near_equal(40, 41), sp.Alignment()),
}


def dense_solve(scores: Tensor, post: sp.SparsePosterior) -> Tensor:
    """The weights of the support from the system `(M^T M + 1 1^T) q = f + c 1`, `1^T q = 1`."""
    columns = post.structure.indicator(post.structures, tuple(scores.shape[1:])).flatten(1)
    gram = columns @ columns.T + 1
    right = torch.stack([columns @ scores.flatten(), torch.ones(len(gram), dtype=gram.dtype)], 1)
    on_scores, on_ones = torch.cholesky_solve(right, torch.linalg.cholesky(gram)).T
    return on_scores + (1 - on_scores.sum()) / on_ones.sum() * on_ones


def gap_of(scores: Tensor, post: sp.SparsePosterior) -> float:
    slope = scores - post.marginals
    best = post.structure.indicator(post.structure.argmax(slope), tuple(scores.shape[1:]))
    return float((slope * (best - post.marginals)).sum())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--limit", type=float, default=5.0, help="seconds a solve should take")
    run = parser.parse_args()
    table = Table(
        "case", "structures", "solve s (limit)", "dense s", "ratio", "gap", "same marginals",
        title="Near-equal scores, one thread",
    )  # fmt: skip
    right = True
    with threads(1):
        dense_solve(
            near_equal(3, 4), sp.sparsemap(near_equal(3, 4), sp.DependencyTrees())
        )  # warm up
        for name in run.cases:
            make, structure = CASES[name]
            scores = make()
            start = time.process_time()
            post = sp.sparsemap(scores, structure, tol=TOL)
            ours = time.process_time() - start
            start = time.process_time()
            weights = dense_solve(scores, post)
            dense = time.process_time() - start
            columns = structure.indicator(post.structures, tuple(scores.shape[1:])).flatten(1)
            again = weights @ columns
            off = float((again - post.marginals.flatten()).abs().max())
            spread = float(scores.max() - scores.min()) or 1.0
            gap = gap_of(scores, post)
            good = bool(post.converged.all()) and gap <= TOL * spread and off <= 1e-9
            right &= good
            table.add_row(
                name, str(len(post.weights)), target(ours, run.limit, ours <= run.limit, " s"),
                f"{dense:.2f}", f"{ours / dense:.1f}x", f"{gap:.1e}",
                f"{off:.1e}" if good else f"[red]{off:.1e}[/]",
            )  # fmt: skip
    Console().print(table)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
