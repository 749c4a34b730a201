"""Log-partition functions and marginals, against torch-struct (Rush 2020).

    python benchmarks/marginals.py [--batch 32] [--repeats 20] [--device cuda] [--backward]
    python benchmarks/marginals.py --quick
    python benchmarks/marginals.py --device cuda --chains 20x10 60x64 --only chain semi

Both get float32 scores that need a gradient. The time is for log Z and differentiable marginals,
with --backward also for the gradient of a function of these; sparsewood computes in float64. It is
the best of the repeats, alternating, including synchronisation with the device. The run fails if
the numbers differ, never because of a time. torch-struct's alignments need an extension that is not
on PyPI: those rows have our times alone.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import torch
import torch_struct
from rich.table import Table
from rows import CHAINS, Row, arguments, best_times, drawn, rows, run
from timing import target
from torch import Tensor

import sparsewood as sp

# Times torch-struct's speed on a CPU; 1.0 for the others, and on a GPU.
TARGETS = {"non-projective": 2.0, "projective": 10.0, "binary": 10.0, "labelled": 10.0}


def ours(row: Row, scores: Tensor, backward: bool) -> Tensor:
    leaf = scores.clone().requires_grad_()
    dist = sp.marginals(leaf, row.structure)
    return _finish(dist.log_partition, dist.marginals, leaf, backward)


def theirs(row: Row, potentials: Tensor, backward: bool) -> Tensor:
    leaf = potentials.clone().requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch-struct does not define arg_constraints
        dist = getattr(torch_struct, str(row.peer))(leaf, **row.options)
    return _finish(dist.partition, dist.marginals, leaf, backward)


def _finish(log_partition: Tensor, marginals: Tensor, leaf: Tensor, backward: bool) -> Tensor:
    assert marginals.requires_grad
    if backward:
        torch.autograd.grad(marginals.square().sum(), leaf)
    return log_partition.detach()


def compare(
    found: list[Row], batch: int, repeats: int, device: str = "cpu", backward: bool = False
) -> tuple[Table, list[str]]:
    """The table, and the structures whose numbers differ."""
    what = "log Z, marginals and their gradient" if backward else "log Z and marginals"
    table = Table(
        "structure", "sparsewood ms", "torch-struct ms", "ratio (target)", "|log Z - log Z'|",
        title=f"{what} of a batch of {batch}, {device}",
    )  # fmt: skip
    wrong = []
    for row in found:
        scores = drawn(row, batch).to(device)
        potentials = row.to_peer(scores)
        calls = [partial(ours, row, scores, backward)]
        if row.peer is None:
            (alone,) = best_times(calls, repeats, device)
            table.add_row(row.name, f"{alone:.2f}", "", "", "")
            continue
        calls.append(partial(theirs, row, potentials, backward))
        difference = (calls[0]() - calls[1]().flatten()).abs().max().item()
        if difference > row.tolerance * row.shape[0]:
            wrong.append(row.name)
        a, b = best_times(calls, repeats, device)
        plain = not backward and device == "cpu"
        goal = TARGETS.get(row.name.split()[0], 1.0) if plain else 1.0
        ratio = target(b / a, goal, b / a >= goal)
        table.add_row(row.name, f"{a:.2f}", f"{b:.2f}", ratio, f"{difference:.0e}")
    return table, wrong


def _sizes(text: str) -> tuple[int, int]:
    steps, states = map(int, text.split("x"))
    return steps, states


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--backward", action="store_true", help="through the marginals")
    parser.add_argument(
        "--chains", nargs="+", type=_sizes, default=CHAINS, metavar="TxK", help="steps and states"
    )
    o = parser.parse_args()
    return run(
        o,
        rows(o.chains),
        lambda found: compare(found, o.batch, o.repeats, o.device, o.backward),
        "numbers differ",
    )


if __name__ == "__main__":
    sys.exit(main())
