"""Families and scores of the benchmarks of sums, samples and the k best, and what these share.

Every such benchmark makes a table with one row per family, and fails if an answer is wrong.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from rich.console import Console
from rich.table import Table
from timing import threads
from torch import Tensor

import sparsewood as sp

CHAINS = ((20, 10), (40, 20))  # steps and states
QUICK_SIZE, QUICK_REPEATS = 20, 3


@dataclass
class Row:
    """A family at one size, in both libraries."""

    name: str
    structure: sp.Structure
    shape: tuple[int, ...]
    peer: str | None = None  # None: torch-struct does not have the family
    to_peer: Callable[[Tensor], Tensor] = torch.clone  # our scores as torch-struct's potentials
    options: dict[str, bool] = field(default_factory=dict)
    tolerance: float = 1e-4  # of log Z; torch-struct computes in float32


def chain(scores: Tensor) -> Tensor:
    """[t, state, state before], the scores of states added to those of steps."""
    edges = scores[:, 1:, :, 1:] + scores[:, 1:, :, :1]
    return torch.cat([edges[:, :1] + scores[:, 0, None, None, :, 0], edges[:, 1:]], 1)


def segments(scores: Tensor) -> Tensor:
    """[t, length, label, label before]; the first segment follows any label, at 1 / K each."""
    labels = scores.shape[2]
    longest = scores.shape[3] - labels
    moves = scores[..., longest:].clone()
    moves[:, 0] = -math.log(labels)
    edges = scores[..., :longest].transpose(2, 3).unsqueeze(-1) + moves.unsqueeze(2)
    return torch.cat([torch.full_like(edges[:, :, :1], -1e9), edges], 2)


def arcs(scores: Tensor) -> Tensor:
    """[head, dependent], the root on the diagonal."""
    table = scores[..., 1:].mT.clone()
    table.diagonal(dim1=1, dim2=2).copy_(scores[..., 0])
    return table


def rows(chains: Sequence[tuple[int, int]] = CHAINS) -> list[Row]:
    """All rows, with chains of these steps and states."""
    found = []
    for steps, states in chains:
        shape = (steps, states, 1 + states)
        name = f"chain T={steps} K={states}"
        found.append(Row(name, sp.LinearChain(), shape, "LinearChainCRF", chain, {}))
    shape = (20, 5, 4 + 5)
    name = "semi-Markov T=20 D=4 K=5"
    found.append(Row(name, sp.SemiMarkov(4), shape, "SemiMarkovCRF", segments, {}))
    for n in (10, 20, 40):
        binary, labelled = sp.BinaryTrees(), sp.BinaryTrees(labelled=True)
        one_label = partial(torch.unsqueeze, dim=-1)
        found.append(Row(f"binary trees n={n}", binary, (n, n), "TreeCRF", one_label))
        found.append(Row(f"labelled binary trees n={n} L=4", labelled, (n, n, 4), "TreeCRF"))
        found.append(Row(f"alignment {n} x {n}", sp.Alignment(), (n, n)))
        found.append(Row(f"alignment {n} x {n} with gaps", sp.Alignment(gaps=True), (n, n)))
    for kind, peer in (
        ("projective", "DependencyCRF"),
        ("non-projective", "NonProjectiveDependencyCRF"),
    ):
        for n in (10, 20, 40):
            for single_root in (False, True):
                trees = sp.DependencyTrees(kind == "projective", single_root)
                name = f"{kind} n={n}{' single root' if single_root else ''}"
                # torch-struct adds 1e-5 to the weight of each non-projective arc.
                tolerance = 1e-2 if kind == "non-projective" else 1e-4
                options = {"multiroot": not single_root}
                found.append(Row(name, trees, (n, n + 1), peer, arcs, options, tolerance))
    return found


def best_times(calls: list[Callable[[], Tensor]], repeats: int, device: str) -> list[float]:
    """Milliseconds of each call; calls alternate."""
    wait = torch.cuda.synchronize if torch.device(device).type == "cuda" else lambda: None
    best = [math.inf] * len(calls)
    for _ in range(repeats):
        for k, call in enumerate(calls):
            wait()
            start = time.perf_counter()
            call()
            wait()
            best[k] = min(best[k], 1e3 * (time.perf_counter() - start))
    return best


def drawn(row: Row, batch: int) -> Tensor:
    """Scores (batch, *parts), float32, the same in every run."""
    return torch.randn(batch, *row.shape, generator=torch.Generator().manual_seed(0))


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """A parser with the options that all these benchmarks have."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--only", nargs="+", default=[""], help="prefixes of the names to run")
    parser.add_argument("--quick", action="store_true", help="sizes up to 20, three repeats")
    return parser


def run(
    options: argparse.Namespace,
    found: list[Row],
    compare: Callable[[list[Row]], tuple[Table, list[str]]],
    fault: str,
) -> int:
    """Print the table of `compare` for the rows asked for; the exit code is 1 if any is wrong.

    Args:
        options: of `arguments`; `repeats` is reduced for a quick run, before `compare` is called.
        found: all rows.
        compare: makes the table and the names of rows whose answers are wrong.
        fault: how the error message begins.
    """
    found = [row for row in found if row.name.startswith(tuple(options.only))]
    if options.quick:
        found = [row for row in found if row.shape[0] <= QUICK_SIZE]
        options.repeats = min(options.repeats, QUICK_REPEATS)
    with threads(1):
        table, wrong = compare(found)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    if wrong:
        print(f"{fault}: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0
