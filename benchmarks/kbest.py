"""The k best structures: the time of `kbest(10)` against ten times one `map`, and torch-struct.

    python benchmarks/kbest.py [--batch 32] [--k 10] [--repeats 20]
        [--without-peer] [--only chain] [--quick]

The families are those of rows.py, and some more; scores are float32, on one thread. Times are
the best of the repeats, alternating. torch-struct (Rush 2020) finds the k best scores of some
families, from potentials that need no gradient; it is timed once.

The run fails if scores of the first instance do not fall from the best of `map`, if structures
repeat, or if torch-struct finds others; never because of a time.
"""

from __future__ import annotations

import sys
import time
import warnings
from functools import partial

import torch
import torch_struct
from rich.table import Table
from rows import Row, arguments, best_times, drawn, rows, run
from timing import target
from torch import Tensor

import sparsewood as sp

PEERS = ("LinearChainCRF", "DependencyCRF", "TreeCRF")
EXACT = 1e-3  # torch-struct computes in float32


def all_rows() -> list[Row]:
    found = []
    for n in (20, 40):
        found += [row for row in rows() if row.shape[0] == n]
        bounded = sp.DependencyTrees(projective=True, max_children=3)
        found += [
            Row(f"at most 3 children n={n}", bounded, (n, n + 1)),
            Row(f"labelled projective n={n} L=4", _labelled(True), (n, n + 1, 4)),
            Row(f"labelled non-projective n={n} L=4", _labelled(False), (n, n + 1, 4)),
            Row(f"spanning trees n={n}", sp.SpanningTrees(), (n, n)),
            Row(f"matching {n} x {n}", sp.Matching(), (n, n)),
            Row(f"partial matching {n} x {n}", sp.Matching(partial=True), (n, n)),
            Row(f"subsets of 5, n={n}", sp.Subset(5), (n,)),
            Row(f"hypercube n={n}", sp.Hypercube(), (n,)),
        ]
    return found


def _labelled(projective: bool) -> sp.LabelledDependencyTrees:
    return sp.LabelledDependencyTrees(projective=projective)


def ours(row: Row, scores: Tensor, k: int) -> Tensor:
    return sp.kbest(scores, row.structure, k).scores


def best(row: Row, scores: Tensor) -> Tensor:
    return sp.map(scores, row.structure).scores


def theirs(row: Row, potentials: Tensor, k: int) -> Tensor:
    """(B, k)"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch-struct does not define arg_constraints
        dist = getattr(torch_struct, str(row.peer))(potentials.clone(), **row.options)
        return dist.kmax(k).T


def is_right(row: Row, scores: Tensor, k: int, peer: Tensor | None) -> bool:
    found = sp.kbest(scores, row.structure, k)
    kept = found.scores[0].isfinite()
    falls = bool((found.scores[0, kept].diff() <= 0).all())
    distinct = len(found.structures[0, kept].unique(dim=0)) == int(kept.sum())
    first = torch.allclose(found.scores[:, 0], best(row, scores))
    same = peer is None or bool(((found.scores - peer).abs() <= EXACT * row.shape[0]).all())
    return falls and distinct and first and same


def compare(
    found: list[Row], batch: int, k: int, repeats: int, peers: tuple[str, ...]
) -> tuple[Table, list[str]]:
    """The table, and the families whose structures are wrong."""
    columns = ["structure", "map ms", f"kbest({k}) ms", f"/ {k} maps (target)", "torch-struct ms"]
    table = Table(*columns, title=f"batch of {batch}, one thread")
    wrong = []
    for row in found:
        scores = drawn(row, batch)
        calls = [partial(best, row, scores), partial(ours, row, scores, k)]
        peer, theirs_ms = None, ""
        if row.peer in peers:
            potentials = row.to_peer(scores)
            start = time.perf_counter()
            peer = theirs(row, potentials, k)
            theirs_ms = f"{1e3 * (time.perf_counter() - start):.0f}"  # once: it takes seconds
        if not is_right(row, scores, k, peer):
            wrong.append(row.name)
        one, several = best_times(calls, repeats, "cpu")
        ratio = target(several / (k * one), 1.0, several <= k * one)
        table.add_row(row.name, f"{one:.3f}", f"{several:.2f}", ratio, theirs_ms)
    return table, wrong


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--without-peer", action="store_true")
    o = parser.parse_args()
    peers = () if o.without_peer else PEERS
    return run(
        o,
        all_rows(),
        lambda found: compare(found, o.batch, o.k, o.repeats, peers),
        "not the k best",
    )


if __name__ == "__main__":
    sys.exit(main())
