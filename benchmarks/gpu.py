"""SparseMAP on a GPU: batches of trees and other families, with solutions certified by the CPU.

    python benchmarks/gpu.py [--sizes 64x20 1024x30] [--repeats 20] [--device cpu] [--quick]

Scores are standard normal, float64, already on the device. A time is the median over the repeats of
the whole public call, between two device events. The run fails if a solution is wrong, never
because of a time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from rich.console import Console
from rich.table import Table
from timing import target
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.base import NativeStructure

TREES = sp.DependencyTrees()
SIZES = ("64x20", "1024x20", "64x30", "1024x30", "8192x30", "1024x60")
CAPS = (5, 10)
# Milliseconds of an earlier version, which launched one warp per instance.
BEFORE = {
    "64x20": (7.5, 0.32, 0.043),
    "1024x20": (9.9, 0.42, 0.049),
    "64x30": (12.6, 0.52, 0.071),
    "1024x30": (24.7, 0.59, 0.079),
    "8192x30": (117, 3.9, 0.23),
    "1024x60": (156, 1.7, 0.28),
}
EXACT = {"64x20": 2.0, "1024x30": 6.0}
CAPPED = {("1024x30", 10): 1.0}
OTHERS: list[tuple[str, NativeStructure, tuple[int, ...]]] = [
    ("chains, 20 steps, 10 states", sp.LinearChain(), (20, 10, 11)),
    ("matchings, 20 x 20", sp.Matching(), (20, 20)),
    ("projective trees, 20 words", sp.DependencyTrees(projective=True), (20, 21)),
]
TOL = 1e-9  # of the range of an instance's scores
ROUNDING = 1e-10


@dataclass
class Run:
    """The device, the number of repeats, and the failures found."""

    device: torch.device
    repeats: int
    cpu_repeats: int
    wrong: list[str] = field(default_factory=list)

    def milliseconds(self, call: Callable[[], object]) -> float:
        """The median after a warm-up."""
        for _ in range(3):
            call()
        if self.device.type != "cuda":
            return _wall(call, self.repeats)
        times = []
        for _ in range(self.repeats):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            call()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end))
        return statistics.median(times)

    def on_cpu(self, scores: Tensor, structure: NativeStructure) -> float:
        """Milliseconds of the exact solve by the CPU, on all of torch's threads."""
        table = scores.cpu()
        return _wall(lambda: sp.sparsemap(table, structure), self.cpu_repeats)


def _wall(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def random_scores(batch: int, shape: tuple[int, ...], device: torch.device) -> Tensor:
    generator = torch.Generator().manual_seed(batch)
    return torch.randn(batch, *shape, dtype=torch.float64, generator=generator).to(device)


def is_consistent(post: sp.SparsePosterior) -> bool:
    """Whether weights are a distribution over distinct structures, and marginals their mean."""
    sizes, weights, structures = (x.cpu() for x in (post.sizes, post.weights, post.structures))
    instance = torch.arange(len(sizes)).repeat_interleave(sizes)
    totals = torch.zeros(len(sizes), dtype=weights.dtype).index_add(0, instance, weights)
    marginals = torch.zeros(len(sizes), *post.shape, dtype=weights.dtype)
    for rows in torch.arange(len(weights)).split(1 << 14):
        parts = post.structure.indicator(structures[rows], post.shape)
        share = weights[rows].view(-1, *[1] * len(post.shape))
        marginals.index_add_(0, instance[rows], share * parts)
    same = (marginals - post.marginals.cpu()).abs().max() <= ROUNDING
    return bool((weights > 0).all() and (totals - 1).abs().max() <= ROUNDING and same)


def certified(scores: Tensor, post: sp.SparsePosterior) -> float:
    """The share of instances whose gap, by the CPU's oracle on theta - u, is within TOL."""
    theta, u = scores.cpu(), post.marginals.cpu()
    mask = post.structure.penalised(theta)
    slope = theta - (u if mask is None else u * mask)
    read = post.structure.reads(theta)
    slope, u = torch.where(read, slope, 0), torch.where(read, u, 0)
    best = sp.map(slope, post.structure).scores
    gap = best - (slope * u).flatten(1).sum(1)
    spread = [torch.where(read, theta, end).flatten(1) for end in (-torch.inf, torch.inf)]
    limit = TOL * (spread[0].amax(1) - spread[1].amin(1)).clamp(min=1)
    return float(((gap <= limit) & post.converged.cpu()).double().mean())


def solve(run: Run, name: str, scores: Tensor, structure: NativeStructure) -> list[str]:
    """The cells of one row, with checks of the timed results."""
    post = sp.sparsemap(scores, structure)
    share = certified(scores, post)
    if share < 1 or not is_consistent(post):
        run.wrong.append(f"{name}: {share:.2%} certified")
    exact = run.milliseconds(lambda: sp.sparsemap(scores, structure))
    cells = [target(exact, EXACT.get(name), exact <= EXACT.get(name, 0.0), " ms")]
    for cap in CAPS:
        if not is_consistent(sp.sparsemap(scores, structure, max_active=cap)):
            run.wrong.append(f"{name}, max_active={cap}")
        capped = run.milliseconds(lambda cap=cap: sp.sparsemap(scores, structure, max_active=cap))
        goal = CAPPED.get((name, cap))
        cells.append(target(capped, goal, goal is not None and capped <= goal, " ms"))
    cpu = run.on_cpu(scores, structure)
    return [
        *cells,
        f"{run.milliseconds(lambda: sp.map(scores, structure)):.3f}",
        f"{post.calls.double().mean():.1f}",
        f"{post.sizes.double().mean():.1f}",
        f"{share:.0%}",
        f"{cpu:.1f}",
        f"{cpu / exact:.1f}x",
    ]


def heading(title: str, *first: str) -> Table:
    found = Table(title=title)
    columns = ("exact", *(f"max_active={cap}" for cap in CAPS), "one map, ms", "calls", "support")
    for column in (*first, *columns, "certified", "CPU ms", "CPU / GPU"):
        found.add_column(column, justify="left" if column in first else "right")
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", default="cuda", help="cuda, or cpu to try the benchmark")
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), help="batch x words")
    parser.add_argument("--others", type=int, nargs="+", default=[64, 1024], help="their batches")
    parser.add_argument("--repeats", type=int, default=20, help="timed calls")
    parser.add_argument("--cpu-repeats", type=int, default=3, help="timed calls on the CPU")
    parser.add_argument("--quick", action="store_true", help="two small sizes, three calls")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.others, options.repeats = ["64x20", "64x30"], [64], 3
        options.cpu_repeats = 1
    return options


def main() -> int:
    options = arguments()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("no GPU found: use --device cpu to try the benchmark", file=sys.stderr)
        return 1
    run = Run(torch.device(options.device), options.repeats, options.cpu_repeats)
    where = torch.cuda.get_device_name() if run.device.type == "cuda" else "the CPU"
    threads = f"{sp.get_num_threads()} threads of the CPU"
    trees = heading(
        f"SparseMAP over dependency trees on {where}, beside {threads}", "batch x words", "before"
    )
    for name in options.sizes:
        batch, n = map(int, name.split("x"))
        before = " / ".join(f"{value:g}" for value in BEFORE.get(name, ()))
        row = solve(run, name, random_scores(batch, (n, n + 1), run.device), TREES)
        trees.add_row(name, before, *row)
    trees.caption = (
        "before: exact / max_active=5 / one map, ms, of the headers launched by one warp for an "
        "instance; targets in brackets"
    )
    others = heading(f"Other families on {where}, beside {threads}", "family", "batch")
    for family, structure, shape in OTHERS:
        for batch in options.others:
            scores = random_scores(batch, shape, run.device)
            others.add_row(family, str(batch), *solve(run, family, scores, structure))
    console = Console(width=None if sys.stdout.isatty() else 170)
    console.print(trees)
    console.print(others)
    for what in run.wrong:
        print(f"wrong: {what}", file=sys.stderr)
    return 1 if run.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
