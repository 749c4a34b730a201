"""Continuity of weights as a function of the scores: the solver's weights and canonical weights.

    python benchmarks/continuity.py [--families trees matchings] [--sizes 10 20] [--line FILE.svg]

The quantity is E[v(h)], where v is a random function of whole structures, with independent values
for any two structures. The run fails if both kinds of weights do not have the same marginals, if a
solution is not certified, or if canonical weights jump or have a wrong gradient although all parts
are penalised. `--line` draws one line of scores instead of tables.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import torch
from line_picture import line_picture
from rich.console import Console
from rich.table import Table
from timing import threads
from torch import Tensor

import sparsewood as sp
from sparsewood.inference._options import Weights
from sparsewood.structures.base import Structure

KINDS: tuple[Weights, Weights] = ("solver", "canonical")
CHANGE = 1e-7  # of the scores, which should not affect the support
STEPS = (1e-6, 1e-8)  # of central differences: the second if the first crosses a kink
SLOPE = 1e-4  # tolerance of derivatives, relative to the size for random directions
TOL = 1e-8  # of marginals
JUMP = 1e-4  # a larger change within 1 / (POINTS * 2 ** HALVINGS) of a line is a jump
POINTS, HALVINGS, LARGEST, LENGTH = 100, 25, 5, 0.1


@dataclass(frozen=True)
class Family:
    """A family of structures, and the scores of an instance of size `n`."""

    make: Callable[[int], Structure]
    shape: Callable[[int], tuple[int, ...]]
    largest: int = 60
    continuous: bool = True  # all parts are penalised: the marginals are a function of the scores


def _words(n: int) -> tuple[int, int]:
    return n, n + 1


def _square(n: int) -> tuple[int, int]:
    return n, n


FAMILIES = {
    "trees": Family(lambda n: sp.DependencyTrees(), _words),
    "single-root": Family(lambda n: sp.DependencyTrees(single_root=True), _words),
    "projective": Family(lambda n: sp.DependencyTrees(projective=True), _words),
    "labelled": Family(lambda n: sp.LabelledDependencyTrees(), lambda n: (n, n + 1, 3), 30),
    "spanning": Family(lambda n: sp.SpanningTrees(), _square),
    "binary": Family(lambda n: sp.BinaryTrees(), _square),
    "matchings": Family(lambda n: sp.Matching(), _square),
    "partial": Family(lambda n: sp.Matching(partial=True), _square),
    "alignments": Family(lambda n: sp.Alignment(), _square),
    "gaps": Family(lambda n: sp.Alignment(gaps=True), _square),
    "chains": Family(lambda n: sp.LinearChain(penalty="both"), lambda n: (n, 5, 6)),
    "chains-states": Family(lambda n: sp.LinearChain(), lambda n: (n, 5, 6), continuous=False),
    "segments": Family(lambda n: sp.SemiMarkov(4, penalty="both"), lambda n: (n, 3, 7)),
    "subsets": Family(lambda n: sp.Subset(n // 2), lambda n: (n,)),
    "hypercube": Family(lambda n: sp.Hypercube(), lambda n: (n,)),
}


def value(structures: Tensor) -> Tensor:
    """v (T,) of structures (T, *event): a normal number for each, computed from its hash."""
    words = structures.flatten(1)
    state = torch.zeros(len(words), dtype=torch.int64)
    for word in words.T:  # products of int64 wrap around
        state = (state ^ (word + 1)) * -7046029254386353131
        state = state ^ ((state >> 29) & (2**35 - 1))
    uniform = ((state >> 11) & (2**52 - 1)).double() + 0.5
    return torch.special.ndtri(uniform / 2**52)


@dataclass(frozen=True)
class Function:
    """E[v(h)] of scores (B, *parts) under SparseMAP with one kind of weights."""

    structure: Structure
    kind: Weights

    def posterior(self, scores: Tensor) -> sp.SparsePosterior:
        return sp.sparsemap(scores, self.structure, weights=self.kind)

    def __call__(self, scores: Tensor) -> Tensor:
        return self.posterior(scores).expect(lambda structures, _: value(structures))


def supports(post: sp.SparsePosterior) -> list[frozenset[bytes]]:
    """The structures of each instance."""
    rows = [row.numpy().tobytes() for row in post.structures]
    bounds = [0, *post.sizes.cumsum(0).tolist()]
    return [frozenset(rows[a:b]) for a, b in pairwise(bounds)]


def at(line: tuple[Tensor, Tensor], t: Tensor) -> Tensor:
    """Scores of lines (B, *parts), start and direction, at places t (B, k): (B, k, *parts)."""
    start, direction = line
    return start[:, None] + t.view(*t.shape, *[1] * (start.ndim - 1)) * direction[:, None]


def jumps(function: Function, line: tuple[Tensor, Tensor]) -> Tensor:
    """The largest jump (B,) of each line.

    The steps between `POINTS` places with the largest changes are halved repeatedly, continuing
    with the half that changes more. The change of a slope vanishes; a jump remains.
    """
    count = len(line[0])
    places = torch.linspace(0, LENGTH, POINTS + 1, dtype=torch.float64).expand(count, -1)
    values = function(at(line, places))
    where = values.diff().abs().topk(LARGEST).indices
    low, high = places.gather(1, where), places.gather(1, where + 1)
    left, right = values.gather(1, where), values.gather(1, where + 1)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        between = function(at(line, middle))
        first = (between - left).abs() >= (right - between).abs()
        low, high = torch.where(first, low, middle), torch.where(first, middle, high)
        left, right = torch.where(first, left, between), torch.where(first, between, right)
    return (right - left).abs().amax(1)


def right_gradients(function: Function, scores: Tensor, direction: Tensor) -> int:
    """The number of instances whose directional derivative equals central differences."""
    leaf = scores.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(leaf).sum(), leaf)
    exact = (gradient * direction).flatten(1).sum(1)
    typical = gradient.flatten(1).norm(dim=1)  # size of the gradient along a normal direction
    right = torch.zeros(len(scores), dtype=torch.bool)
    for step in STEPS:
        ends = function(scores + step * direction) - function(scores - step * direction)
        right |= (ends / (2 * step) - exact).abs() <= SLOPE * typical.clamp(min=SLOPE)
    return int(right.sum())


def processor_seconds(call: Callable[[], object], repeats: int) -> float:
    """The minimum processor time of a call, which other work on the machine does not affect."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


@dataclass
class Row:
    """Measurements for one kind of weights."""

    same: int  # instances whose support is that of scores changed by CHANGE
    change: float  # of E[v], by that
    jump: float
    right: int
    kept: float
    seconds: float
    canonical: int


def measure(
    family: Family, n: int, scale: float, kind: Weights, run: argparse.Namespace
) -> tuple[Row, sp.SparsePosterior]:
    function = Function(family.make(n), kind)
    generator = torch.Generator().manual_seed(n)

    def normal(count: int) -> Tensor:
        return torch.randn(count, *family.shape(n), generator=generator, dtype=torch.float64)

    scores, noise, direction = scale * normal(run.count), normal(run.count), normal(run.count)
    line = scores[: run.lines], scale * normal(run.lines)
    post, near = function.posterior(scores), function.posterior(scores + CHANGE * noise)
    unchanged = [a == b for a, b in zip(supports(post), supports(near), strict=True)]
    moved = [p.expect(lambda structures, _: value(structures)) for p in (post, near)]
    row = Row(
        same=sum(unchanged),
        change=float((moved[0] - moved[1]).abs().max()),
        jump=float(jumps(function, line).max()),
        right=right_gradients(function, scores, direction),
        kept=float(post.sizes.double().mean()),
        seconds=processor_seconds(lambda: function.posterior(scores), run.repeats) / run.count,
        canonical=int(post.canonical.sum()),
    )
    return row, post


def is_right(
    family: Family, posts: list[sp.SparsePosterior], row: Row, run: argparse.Namespace
) -> bool:
    """Whether marginals are equal and certified, and canonical weights do not jump."""
    solver, canonical = posts
    agree = not family.continuous or torch.allclose(
        solver.marginals, canonical.marginals, rtol=0, atol=TOL
    )
    certified = bool(solver.converged.all() and canonical.converged.all())
    if not (family.continuous and row.canonical == run.count):
        return agree and certified
    return agree and certified and row.jump <= JUMP and row.right == run.count


def table_of(run: argparse.Namespace, scale: float) -> tuple[Table, bool]:
    """A row per family and size, the solver's weights before canonical weights."""
    table = Table(
        "family", "n", "canonical", "same support", "change of E\\[v]", "largest jump",
        "gradient right", "kept", "ms", "ratio",
        title=f"Scale {scale:g}: {run.count} instances, {run.lines} lines; solver / canonical",
        caption=f"same support, change of E\\[v]: of scores changed by {CHANGE:g}",
    )  # fmt: skip
    right = True
    for name in run.families:
        family = FAMILIES[name]
        for n in run.sizes:
            if n > family.largest:
                continue
            try:
                pairs = [measure(family, n, scale, kind, run) for kind in KINDS]
            except ValueError as reason:
                table.add_row(name, str(n), f"none: {reason}")
                continue
            solver, canonical = (row for row, _ in pairs)
            good = is_right(family, [post for _, post in pairs], canonical, run)
            right &= good
            table.add_row(
                name if good else f"[red]{name}[/]", str(n), f"{canonical.canonical}",
                f"{solver.same} / {canonical.same}",
                f"{solver.change:.0e} / {canonical.change:.0e}",
                f"{solver.jump:.0e} / {canonical.jump:.0e}",
                f"{solver.right} / {canonical.right}",
                f"{solver.kept:.1f} / {canonical.kept:.1f}",
                f"{1e3 * solver.seconds:.2f} / {1e3 * canonical.seconds:.2f}",
                f"{canonical.seconds / solver.seconds:.1f}x",
            )  # fmt: skip
    return table, right


def scan(n: int, points: int) -> list[tuple[str, list[float]]]:
    """E[v] along a line of scores of trees over `n` words, for both kinds of weights."""
    generator = torch.Generator().manual_seed(0)
    start, towards = torch.randn(2, 1, n, n + 1, generator=generator, dtype=torch.float64)
    t = torch.linspace(0, 5 * LENGTH, points, dtype=torch.float64)[None]
    scores = at((start, towards), t)
    functions = [Function(sp.DependencyTrees(), kind) for kind in KINDS]
    return [(function.kind, function(scores)[0].tolist()) for function in functions]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20, 30, 60])
    parser.add_argument("--scales", type=float, nargs="+", default=[1.0, 3.0])
    parser.add_argument("--count", type=int, default=20, help="instances of each")
    parser.add_argument("--lines", type=int, default=5, help="of them scanned along a line")
    parser.add_argument("--repeats", type=int, default=3, help="of the solves that are timed")
    parser.add_argument("--line", type=Path, metavar="FILE.svg", help="draw a line of scores")
    parser.add_argument("--points", type=int, default=4001, help="of the line that is drawn")
    run = parser.parse_args()
    if run.line is not None:
        run.line.write_text(line_picture(scan(run.sizes[0], run.points), 5 * LENGTH))
        return 0
    console, right = Console(width=None if sys.stdout.isatty() else 160), True
    with threads(1):
        for scale in run.scales:
            table, good = table_of(run, scale)
            console.print(table)
            right &= good
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
