"""Exact samples: the time of `sample(4)` against that of the marginals, and against torch-struct.

    python benchmarks/samples.py [--batch 32] [--repeats 20] [--device cuda]
        [--only projective] [--quick]

The families and scores are those of rows.py; the time of the marginals includes log Z, of
scores that need no gradient. Times are the best of the repeats, alternating. The run fails if the
mean of samples is not within six standard errors of the marginals, never because of a time.
torch-struct draws ten samples at a time and keeps four; it has none of non-projective trees.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import torch_struct
from rich.table import Table
from rows import Row, arguments, best_times, drawn, rows, run
from timing import target
from torch import Tensor

import sparsewood as sp

SAMPLES = 4
GOAL = 2.0  # times the marginals
CHECKED = 500  # samples of one instance whose mean is compared with the marginals
OURS_ALONE = ("NonProjectiveDependencyCRF", "SemiMarkovCRF")


def all_rows() -> list[Row]:
    """Those of rows.py, spanning trees besides."""
    trees = [Row(f"spanning trees n={n}", sp.SpanningTrees(), (n, n)) for n in (20, 40)]
    return rows() + trees


def marginals(row: Row, scores: Tensor) -> Tensor:
    dist = sp.marginals(scores, row.structure)
    assert dist.marginals is not None
    return dist.log_partition


def theirs(row: Row, potentials: Tensor) -> Tensor:
    # It writes to a view of its potentials, which may therefore be no leaf of a graph.
    potentials = potentials.clone().requires_grad_() + 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dist = getattr(torch_struct, str(row.peer))(potentials, **row.options)
        return dist.sample((SAMPLES,))


def is_exact(row: Row, scores: Tensor) -> bool:
    """Whether the mean of samples of the first instance is close to the marginals."""
    dist = sp.marginals(scores[:1].double(), row.structure)
    drawn = dist.sample(CHECKED).flatten(0, 1)
    mean = row.structure.indicator(drawn, row.shape).mean(0)
    expected = dist.marginals[0]
    error = (expected * (1 - expected)).clamp(min=0).sqrt() / CHECKED**0.5
    return bool(((mean - expected).abs() <= 6 * error + 0.02).all())


def compare(found: list[Row], batch: int, repeats: int, device: str) -> tuple[Table, list[str]]:
    """The table, and the families whose samples are wrong."""
    table = Table(
        "structure", "marginals ms", f"sample({SAMPLES}) ms", "ratio (target)", "torch-struct ms",
        title=f"batch of {batch}, {device}",
    )  # fmt: skip
    wrong = []
    for row in found:
        scores = drawn(row, batch).to(device)
        if not is_exact(row, scores):
            wrong.append(row.name)
        dist = sp.marginals(scores, row.structure)
        calls = [partial(marginals, row, scores), partial(dist.sample, SAMPLES)]
        if row.peer is not None and row.peer not in OURS_ALONE:
            calls.append(partial(theirs, row, row.to_peer(scores)))
        sums, samples, *peer = best_times(calls, repeats, device)
        ratio = target(samples / sums, GOAL, samples <= GOAL * sums)
        peers = f"{peer[0]:.2f}" if peer else ""
        table.add_row(row.name, f"{sums:.2f}", f"{samples:.2f}", ratio, peers)
    return table, wrong


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--device", default="cpu")
    o = parser.parse_args()
    return run(
        o,
        all_rows(),
        lambda found: compare(found, o.batch, o.repeats, o.device),
        "samples differ from the marginals",
    )


if __name__ == "__main__":
    sys.exit(main())
