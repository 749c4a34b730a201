"""Calls on jax arrays against the same calls on tensors: times and their ratios.

    python benchmarks/jax_calls.py [--batch 64] [--repeats 20] [--threads 1]

`jit` is the compiled call, `gradient` the compiled gradient of a function of all results with
respect to the scores; on tensors, the backward pass is part of it. Both get the same float32
scores. Calls alternate, and the time is the best of the repeats. The run fails if values or
gradients differ, never because of a time.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from timing import threads
from torch import Tensor

import sparsewood as sp
import sparsewood.jax as spj

CAP = 16
TOLERANCE = 1e-4  # of float32 gradients, relative to the largest


@dataclass
class Row:
    """A call of both sides: scores -> the part of the result that is compared."""

    name: str
    shape: tuple[int, ...]
    on_tensors: Callable[[Tensor], Tensor]
    on_arrays: Callable[[jax.Array], jax.Array]


def rows() -> list[Row]:
    found = []
    for n in (10, 20, 40):
        trees, shape = sp.DependencyTrees(), (n, n + 1)
        found += [
            Row(
                f"map, trees n={n}",
                shape,
                lambda s, trees=trees: sp.map(s, trees).scores,
                lambda s, trees=trees: spj.map(s, trees).scores,
            ),
            Row(
                f"sparsemap, trees n={n}",
                shape,
                lambda s, trees=trees: sp.sparsemap(s, trees, max_active=CAP).marginals,
                lambda s, trees=trees: spj.sparsemap(s, trees, max_active=CAP).marginals,
            ),
            Row(
                f"marginals, trees n={n}",
                shape,
                lambda s, trees=trees: sp.marginals(s, trees).marginals,
                lambda s, trees=trees: spj.marginals(s, trees).marginals,
            ),
        ]
    chain = sp.LinearChain()
    found.append(
        Row(
            "sparsemap, chain T=40 K=20",
            (40, 20, 21),
            lambda s: sp.sparsemap(s, chain, max_active=CAP).marginals,
            lambda s: spj.sparsemap(s, chain, max_active=CAP).marginals,
        )
    )
    return found


def gradient_on_tensors(row: Row) -> Callable[[Tensor], Tensor]:
    def call(scores: Tensor) -> Tensor:
        leaf = scores.clone().requires_grad_()
        (slope,) = torch.autograd.grad(row.on_tensors(leaf).square().sum(), leaf)
        return slope

    return call


def gradient_on_arrays(row: Row) -> Callable[[Any], Any]:
    return jax.jit(jax.grad(lambda scores: (row.on_arrays(scores) ** 2).sum()))


def best_times(calls: list[Callable[[], object]], repeats: int) -> list[float]:
    """Milliseconds of each call after a warm-up; calls alternate."""
    best = [math.inf] * len(calls)
    for call in calls:
        call()
    for _ in range(repeats):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[k] = min(best[k], 1e3 * (time.perf_counter() - start))
    return best


def waited(call: Callable[[Any], Any], array: jax.Array) -> Any:
    """The result of a call, after it is computed."""
    return jax.block_until_ready(call(array))


def differ(found: Any, expected: Tensor) -> float:
    """The largest difference, relative to the largest entry."""
    theirs = expected.numpy()
    return float(np.abs(np.asarray(found) - theirs).max() / max(1.0, np.abs(theirs).max()))


def compare(batch: int, repeats: int) -> tuple[Table, list[str]]:
    """The table, and the calls whose results differ."""
    table = Table(
        "call", "", "tensors ms", "jax ms", "ratio", "difference",
        title=f"a batch of {batch}, float32",
    )  # fmt: skip
    wrong = []
    for row in rows():
        generator = torch.Generator().manual_seed(0)
        scores = torch.randn(batch, *row.shape, generator=generator)
        array = jnp.asarray(scores.numpy())
        kinds: list[tuple[str, Callable[[Tensor], Tensor], Callable[[Any], Any]]] = [
            ("jit", row.on_tensors, jax.jit(row.on_arrays))
        ]
        if not row.name.startswith("map"):
            kinds.append(("gradient", gradient_on_tensors(row), gradient_on_arrays(row)))
        for kind, ours, theirs in kinds:
            difference = differ(theirs(array), ours(scores))
            if difference > (TOLERANCE if kind == "gradient" else 0):
                wrong.append(f"{row.name} {kind}")
            calls = [partial(ours, scores), partial(waited, theirs, array)]
            a, b = best_times(calls, repeats)
            table.add_row(
                row.name, kind, f"{a:.2f}", f"{b:.2f}", f"{b / a:.2f}x", f"{difference:.0e}"
            )
    return table, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1, help="of the solver and of PyTorch")
    options = parser.parse_args()
    with threads(options.threads):
        table, wrong = compare(options.batch, options.repeats)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    if wrong:
        print(f"results differ: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
