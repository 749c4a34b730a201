"""Log-partition functions and marginals, against torch-struct (Rush 2020).

    python benchmarks/marginals.py [--batch 32] [--repeats 20] [--device cuda] [--backward]
    python benchmarks/marginals.py --device cuda --chains 20x10 60x64 --only chain semi

Both get float32 scores that need a gradient. The time is for log Z and differentiable marginals,
with --backward also for the gradient of a function of these; sparsewood computes in float64. It is
the best of the repeats, alternating, including synchronisation with the device. The run fails if
the numbers differ, never because of a time. torch-struct's alignments need an extension that is not
on PyPI: those rows have our times alone.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
import torch_struct
from rich.console import Console
from rich.table import Table
from timing import target, threads
from torch import Tensor

import sparsewood as sp

# Times torch-struct's speed on a CPU; 1.0 for the others, and on a GPU.
TARGETS = {"non-projective": 2.0, "projective": 10.0, "binary": 10.0, "labelled": 10.0}
CHAINS = ((20, 10), (40, 20))  # steps and states


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
        generator = torch.Generator().manual_seed(0)
        scores = torch.randn(batch, *row.shape, generator=generator).to(device)
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
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--backward", action="store_true", help="through the marginals")
    parser.add_argument(
        "--chains", nargs="+", type=_sizes, default=CHAINS, metavar="TxK", help="steps and states"
    )
    parser.add_argument("--only", nargs="+", default=[""], help="prefixes of the names to run")
    options = parser.parse_args()
    found = [row for row in rows(options.chains) if row.name.startswith(tuple(options.only))]
    with threads(1):
        table, wrong = compare(
            found,
            options.batch,
            options.repeats,
            options.device,
            options.backward,
        )
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    if wrong:
        print(f"numbers differ: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
