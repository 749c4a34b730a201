"""Speed of every native family; chains and matchings against `lp-sparsemap`; marginals.

    python benchmarks/structures.py [--scales 0.3 1 3] [--batch 100] [--peer PYTHON]

Four tables: SparseMAP over chains (20 steps, 10 states) and matchings (20 x 20) against the peer on
the same scores, with our solutions checked by an independent oracle; the oracle and the solver of
each family at about that size; sets of a thousand items with near-equal scores, which start from
the closed-form solution; and the table of `marginals.py`, if torch-struct is installed. One thread.
The run fails if a solution is wrong, never because of a time.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import peer
import torch
from rich.console import Console
from rich.table import Table
from scipy.optimize import linear_sum_assignment
from solver import TOL, oracle_seconds
from timing import seconds, target, threads
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.base import NativeStructure

CHAIN, MATCHING = sp.LinearChain(), sp.Matching()
STEPS, STATES, SIDE = 20, 10, 20
TARGET_RATIO = 5.0  # peer over ours, mean times

# Name, structure, shape of an instance's scores.
FAMILIES: list[tuple[str, NativeStructure, tuple[int, ...]]] = [
    ("trees", sp.DependencyTrees(), (20, 21)),
    ("trees, projective", sp.DependencyTrees(projective=True), (20, 21)),
    ("trees, at most 2 children", sp.DependencyTrees(projective=True, max_children=2), (20, 21)),
    ("labelled trees, 10 labels", sp.LabelledDependencyTrees(), (20, 21, 10)),
    ("binary trees", sp.BinaryTrees(), (20, 20)),
    ("binary trees, 10 labels", sp.BinaryTrees(labelled=True), (20, 20, 10)),
    ("chains, 10 states", CHAIN, (20, 10, 11)),
    ("chains, both penalised", sp.LinearChain(penalty="both"), (20, 10, 11)),
    ("semi-Markov, 10 labels, length 8", sp.SemiMarkov(max_length=8), (20, 10, 18)),
    ("matchings", MATCHING, (20, 20)),
    ("partial matchings", sp.Matching(partial=True), (20, 20)),
    ("alignments", sp.Alignment(), (20, 20)),
    ("alignments with gaps", sp.Alignment(gaps=True), (20, 20)),
    ("alignments of speech", sp.Alignment(steps="speech"), (20, 60)),
    ("paths in a grid of 10 x 10", sp.Paths.grid(10, 10), (180,)),
    ("subsets of 10 out of 100", sp.Subset(10), (100,)),
    ("simplex of 100", sp.Simplex(), (100,)),
    ("hypercube of 100", sp.Hypercube(), (100,)),
]

# Sets of items, and the scale of their scores.
ITEMS = 1000
SETS: list[tuple[str, NativeStructure, float]] = [
    ("simplex", sp.Simplex(), 0.0),
    ("simplex", sp.Simplex(), 0.01),
    ("subsets of 10", sp.Subset(10), 0.0),
    ("subsets of 10", sp.Subset(10), 0.01),
    ("hypercube", sp.Hypercube(), 1.0),
]


@dataclass
class Case:
    """A batch for both solvers, and the checks of its solutions."""

    name: str
    structure: NativeStructure
    scores: Tensor
    penalised: Callable[[Tensor], Tensor]  # the marginals that are unique
    best_score: Callable[[Tensor], float]  # max_h <slope, h> of one instance, by another oracle
    ask_peer: Callable[[str, int], peer.PeerAnswer | None]  # (interpreter, instances)
    goal: float | None = TARGET_RATIO


def chain_case(scale: float, batch: int) -> Case:
    rng = np.random.default_rng([STEPS, round(1000 * scale)])
    unary = scale * rng.standard_normal((batch, STEPS, STATES))
    transition = scale * rng.standard_normal((batch, STEPS - 1, STATES, STATES))

    def viterbi(slope: Tensor) -> float:
        states, moves = CHAIN.unpack(slope[None])
        best = states[0, 0]
        for state, move in zip(states[0, 1:], moves[0], strict=True):
            best = (best[:, None] + move).amax(0) + state
        return float(best.max())

    return Case(
        f"chains, {STEPS} steps, {STATES} states",
        CHAIN,
        CHAIN.pack(torch.from_numpy(unary), torch.from_numpy(transition)),
        lambda parts: parts[..., 0],
        viterbi,
        lambda python, count: peer.solve_chains(python, unary[:count], transition[:count], 3000),
    )


def matching_case(scale: float, batch: int, our_oracle: bool) -> Case:
    rng = np.random.default_rng([SIDE, round(1000 * scale)])
    scores = scale * rng.standard_normal((batch, SIDE, SIDE))

    def assignment(slope: Tensor) -> float:
        rows, columns = linear_sum_assignment(slope.numpy(), maximize=True)
        return float(slope.numpy()[rows, columns].sum())

    return Case(
        f"matchings, {SIDE} x {SIDE}" + " (peer with our oracle)" * our_oracle,
        MATCHING,
        torch.from_numpy(scores),
        lambda parts: parts,
        assignment,
        lambda python, count: peer.solve_matchings(
            python, scores[:count], 3000, our_oracle=our_oracle
        ),
        None if our_oracle else TARGET_RATIO,
    )


def against_peer(table: Table, case: Case, scale: float, run: argparse.Namespace) -> bool:
    """Add one row; returns whether all our solutions are certified."""
    posterior = sp.sparsemap(case.scores, case.structure, tol=TOL)
    gaps = certificate(case, posterior.marginals)
    timing = seconds(lambda: sp.sparsemap(case.scores, case.structure, tol=TOL), run.repeats)
    ours, best = (1e6 * t / run.batch for t in (timing.mean, timing.best))
    row = [
        case.name,
        f"{scale:g}",
        f"{ours:.1f}",
        f"{best:.1f}",
        f"{posterior.sizes.double().mean():.1f}",
        f"{np.mean(gaps <= TOL):.0%}",
    ]
    answer = None if run.peer is None else case.ask_peer(run.peer, run.peer_batch)
    if answer is None:
        row += ["-"] * 5
    else:
        found = case.penalised(posterior.marginals)[: run.peer_batch].numpy()
        difference = np.abs(found - answer.marginals).reshape(run.peer_batch, -1).max(1)
        ratio = 1e6 * answer.seconds.mean() / ours
        row += [
            f"{1e6 * answer.seconds.mean():.0f}",
            f"{1e6 * np.median(answer.seconds):.0f}",
            f"{answer.support.mean():.1f}",
            f"{np.median(difference):.0e} ({difference.max():.0e})",
            target(ratio, case.goal, case.goal is not None and ratio >= case.goal),
        ]
    table.add_row(*row)
    return bool((gaps <= TOL).all())


def certificate(case: Case, marginals: Tensor) -> np.ndarray:
    """max_h <theta - D u, h> - <theta - D u, u> of each instance, by the case's own oracle."""
    mask = case.structure.penalised(case.scores)
    slope = case.scores - (marginals if mask is None else marginals * mask)
    here = (slope * marginals).flatten(1).sum(1)
    return np.array([case.best_score(s) - float(h) for s, h in zip(slope, here, strict=True)])


def family_row(
    table: Table,
    name: str,
    structure: NativeStructure,
    shape: tuple[int, ...],
    run: argparse.Namespace,
) -> bool:
    """Oracle and solver of one family at scale 1; returns whether all converged."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(run.batch, *shape, dtype=torch.float64, generator=generator)
    posterior = sp.sparsemap(scores, structure)
    marginals = posterior.marginals
    mask = structure.penalised(scores)
    slope = scores - (marginals if mask is None else marginals * mask)
    oracle = 1e6 * oracle_seconds(slope, structure, run.repeats)
    solve = 1e6 * seconds(lambda: sp.sparsemap(scores, structure), run.repeats).best / run.batch
    table.add_row(name, str(shape), f"{oracle:.1f}", f"{solve:.0f}",
                  f"{posterior.sizes.double().mean():.1f}",
                  f"{posterior.converged.double().mean():.0%}")  # fmt: skip
    return bool(posterior.converged.all())


def set_row(
    table: Table, name: str, structure: NativeStructure, scale: float, repeats: int
) -> bool:
    """One instance of many items, from the closed form; returns whether it converged."""
    generator = torch.Generator().manual_seed(0)
    scores = scale * torch.randn(1, ITEMS, dtype=torch.float64, generator=generator)
    posterior = sp.sparsemap(scores, structure)
    solve = 1e3 * seconds(lambda: sp.sparsemap(scores, structure), repeats).best
    table.add_row(name, f"{scale:g}", f"{solve:.1f}", str(posterior.sizes.item()),
                  str(posterior.calls.item()), f"{posterior.gap.item():.0e}")  # fmt: skip
    return bool(posterior.converged.all())


def print_marginals(console: Console, run: argparse.Namespace) -> bool:
    """The table of `marginals.py`; returns whether all numbers agree."""
    if importlib.util.find_spec("torch_struct") is None:
        console.print("torch-struct not found: no marginals (pip install torch-struct)")
        return True
    import marginals

    with threads(1):
        table, wrong = marginals.compare(marginals.rows(), 32, run.repeats)
    console.print(table)
    return not wrong


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scales", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    parser.add_argument("--batch", type=int, default=100, help="instances")
    parser.add_argument("--peer-batch", type=int, default=50, help="of them for the peer")
    parser.add_argument("--repeats", type=int, default=7, help="timed runs of ours")
    peer.add_option(parser)
    return parser.parse_args()


def main() -> int:
    run = arguments()
    run.peer = peer.find(run.peer)
    run.peer_batch = min(run.peer_batch, run.batch)
    beside = Table(
        "structures", "scale", "ours us", "best us", "support", "certified", "peer us",
        "median us", "support", "|u - peer| median (max)", "ratio (target)",
        title=f"SparseMAP per instance, one thread; certified by another oracle at {TOL:g}",
    )  # fmt: skip
    every = Table(
        "family", "parts", "oracle us", "SparseMAP us", "support", "converged",
        title="Every family at scale 1: the MAP call with its reading of the scores, and the solve",
    )  # fmt: skip
    sets = Table(
        "items", "scale", "ms", "support", "oracle calls", "gap",
        title=f"Sets of {ITEMS} items, one instance: from the solution in closed form",
    )  # fmt: skip
    right = True
    with threads(1):
        for scale in run.scales:
            cases = [chain_case(scale, run.batch)]
            cases += [matching_case(scale, run.batch, ours) for ours in (False, True)]
            for case in cases:
                right &= against_peer(beside, case, scale, run)
        for name, structure, shape in FAMILIES:
            right &= family_row(every, name, structure, shape, run)
        for name, structure, scale in SETS:
            right &= set_row(sets, name, structure, scale, run.repeats)
    console = Console(width=None if sys.stdout.isatty() else 150)
    if run.peer is None:
        console.print("lp-sparsemap not found: only our results (see benchmarks/README.md)")
    console.print(beside)
    console.print(every)
    console.print(sets)
    right &= print_marginals(console, run)
    if not right:
        print("some results are wrong: see 'certified', 'converged' and 'log Z'", file=sys.stderr)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
