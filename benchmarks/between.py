"""`BetweenArcScorer` against `MLPArcScorer`: times, memory and their ratios.

    python benchmarks/between.py [--device cuda] [--hidden 100] [--repeats 10] [--rounding 1]

A step is a forward and a backward pass of the scorer alone, from gradients of all arcs ("dense") or
of about three arcs per word, as SparseMAP gives ("sparse"). Memory is the peak of a dense step
beyond what was allocated before: on a GPU by PyTorch's allocator, on Linux by resident pages. The
timed scores and, up to 100 words, their gradients are compared with the formula in plain PyTorch.
The run fails if they differ, never because of a time.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import sys
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

import sparsewood as sp

SIZES = ((64, 30), (16, 100), (4, 300), (1, 1000))
INPUT = 128
ARCS = 3  # per word that have a gradient in a sparse step
MEBI = 1 << 20


def plain(scorer: sp.nn.BetweenArcScorer, x: Tensor) -> Tensor:
    """The formula for one sentence (n, d), by a loop over the left words of pairs."""
    n, r = len(x), scorer.rounding
    g = torch.tanh(scorer.step(x))
    steps = g + (r * (g.round() - g)).detach()
    sums = torch.cat([torch.zeros_like(steps[:1]), steps.cumsum(0)])
    heads, dependents = scorer.head(torch.cat([scorer.root[None], x])), scorer.dependent(x)
    columns, rows = [], []  # heads left of the dependent; right of it, or the same word
    for low in range(n + 1):
        way = sums[low:n]
        seen = torch.cat([way, least(way), -least(-way)], -1)
        seen = torch.tanh(seen - sums[low].repeat(3))
        apart = (torch.arange(low + 1, n + 1, device=x.device) - low > 1).long()
        left = heads[low] + dependents[low:] + seen @ scorer.between[0].T + scorer.place[0, apart]
        columns.append(torch.cat([heads.new_zeros(low), scorer.score(left.tanh())[:, 0]]))
        if low > 0:
            same = heads[low] + scorer.place[1, 0]
            right = heads[low + 1 :] + seen @ scorer.between[1].T + scorer.place[1, apart]
            hidden = torch.cat([same[None], right]) + dependents[low - 1]
            rows.append(torch.cat([heads.new_zeros(low), scorer.score(hidden.tanh())[:, 0]]))
    return torch.stack(columns, 1) + torch.stack(rows)


def least(way: Tensor) -> Tensor:
    """`way.cummin(0)`, with the gradient on the first of equal sums."""
    below = way.detach().cummin(0).values
    before = torch.cat([torch.full_like(below[:1], torch.inf), below[:-1]])
    position = torch.arange(len(way), device=way.device)[:, None]
    return way.gather(0, torch.where(below < before, position, 0).cummax(0).values)


def is_right(scorer: sp.nn.BetweenArcScorer, x: Tensor, on_scores: Tensor) -> bool:
    """Whether scores, and gradients of short sentences, are those of the formula in float64."""
    exact = deepcopy(scorer).double()
    found = scored(scorer, lambda x: scorer(x[None])[0], x[0], on_scores[0])
    expected = scored(exact, lambda x: plain(exact, x), x[0].double(), on_scores[0].double())
    close = [
        (a.double() - b).abs().max() <= 2e-4 * b.abs().max()
        for a, b in zip(found, expected, strict=True)
    ]
    return all(close)


def scored(
    scorer: sp.nn.BetweenArcScorer, call: Callable[[Tensor], Tensor], x: Tensor, on_scores: Tensor
) -> list[Tensor]:
    """Scores of a sentence (n, d), and the gradients if it is short."""
    leaf = x.detach().requires_grad_()
    scores = call(leaf)
    leaves = [leaf, *scorer.parameters()]
    gradients = torch.autograd.grad(scores, leaves, on_scores) if len(x) <= 100 else ()
    return [scores.detach(), *gradients]


def best_milliseconds(call: Callable[[], object], device: torch.device, repeats: int) -> float:
    """Of `repeats` calls, after one more."""
    times = []
    for _ in range(repeats + 1):
        wait(device)
        start = time.perf_counter()
        call()
        wait(device)
        times.append(time.perf_counter() - start)
    return 1e3 * min(times[1:])


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peak_mebibytes(call: Callable[[], object], device: torch.device) -> float:
    """What `call` needs at most beyond what is there before; NaN where that is not known."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        call()
        return (torch.cuda.max_memory_allocated(device) - before) / MEBI
    reset = Path("/proc/self/clear_refs")
    if not reset.exists():
        return float("nan")
    ctypes.CDLL(None).malloc_trim(0)  # what is free leaves the process
    reset.write_text("5")  # the peak is now what is resident
    before = resident("VmRSS")
    call()
    return (resident("VmHWM") - before) / 1024


def resident(field: str) -> int:
    """In KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])


def measure(
    scorer: torch.nn.Module, x: Tensor, sparse: Tensor, dense: Tensor, repeats: int
) -> list[float]:
    """Milliseconds of a forward pass, of a sparse and of a dense step; memory of a dense step."""

    def step(on_scores: Tensor) -> None:
        leaves = [x, *scorer.parameters()]
        torch.autograd.grad(scorer(x), leaves, on_scores)

    def forward() -> None:
        with torch.no_grad():
            scorer(x)

    memory = peak_mebibytes(lambda: step(dense), x.device)
    calls = (forward, lambda: step(sparse), lambda: step(dense))
    return [*(best_milliseconds(call, x.device, repeats) for call in calls), memory]


def main() -> int:
    parser = argparse.ArgumentParser(description="BetweenArcScorer against MLPArcScorer")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--hidden", type=int, default=100)
    parser.add_argument("--channels", type=int, default=4)
    parser.add_argument("--rounding", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--threads", type=int, help="default: those of PyTorch")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    device, wrong = torch.device(options.device), 0
    console = Console()
    table = Table(title=f"{device}, {INPUT} inputs, hidden layer {options.hidden}")
    for column in ("batch x words", "scorer", "forward ms", "sparse ms", "dense ms", "peak MiB"):
        table.add_column(column, justify="right")
    for batch, n in SIZES:
        torch.manual_seed(0)
        between = sp.nn.BetweenArcScorer(INPUT, options.hidden, options.channels).to(device)
        between.rounding = options.rounding
        mlp = sp.nn.MLPArcScorer(INPUT, options.hidden).to(device)
        x = torch.randn(batch, n, INPUT, device=device, requires_grad=True)
        dense = torch.randn(batch, n, n + 1, device=device)
        sparse = dense * (torch.rand_like(dense) < ARCS / (n + 1))
        theirs = measure(mlp, x, sparse, dense, options.repeats)
        ours = measure(between, x, sparse, dense, options.repeats)
        ratios = [a / b if b else float("nan") for a, b in zip(ours, theirs, strict=True)]
        name = f"{batch} x {n}"
        table.add_row(name, "MLPArcScorer", *(f"{value:.2f}" for value in theirs))
        table.add_row("", "BetweenArcScorer", *(f"{value:.2f}" for value in ours))
        shown = [f"{ratio:.2f} x" for ratio in ratios]
        table.add_row("", "ratio", *shown, end_section=True)
        if not is_right(between, x, dense):
            console.print(f"[red]{name}: not the scores or gradients of the formula[/]")
            wrong += 1
    console.print(table)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
