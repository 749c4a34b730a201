"""Soft ranks, forward and backward, compared with other libraries and with `torch.sort`.

    python benchmarks/ranking.py [--sizes 100 1000 10000] [--batch 64] [--threads 1]

The peers solve the same problem (quadratic regularisation): torchsort (C++) and fast-soft-sort
(NumPy; compiled by numba where that is installed), each if it can be imported. `torch.sort` of the
same values is the limit: every method sorts. The run fails if ranks or gradients differ from an
isotonic regression in NumPy or from a peer, or if ranks do not sum to n (n + 1) / 2.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from timing import seconds, threads
from torch import Tensor

import sparsewood as sp

Ranks = Callable[[Tensor], Tensor]
TOL = 1e-4  # float32, relative to n


def peers() -> dict[str, Ranks]:
    """The libraries that are installed."""
    found: dict[str, Ranks] = {"sparsewood": sp.soft_rank}
    try:
        torchsort = import_module("torchsort")
        found["torchsort"] = lambda values: torchsort.soft_rank(values)
    except ImportError:
        pass
    try:
        pytorch_ops = import_module("fast_soft_sort.pytorch_ops")
        found["fast-soft-sort"] = lambda values: pytorch_ops.soft_rank(values)
    except ImportError:
        pass
    return found


def step(ranks: Ranks, values: Tensor, slope: Tensor) -> tuple[Tensor, Tensor]:
    """The ranks, and the gradient of their product with `slope`."""
    leaf = values.clone().requires_grad_()
    found = ranks(leaf)
    (gradient,) = torch.autograd.grad(found, leaf, slope)
    return found.detach(), gradient


def sort(values: Tensor) -> Tensor:
    """The limit: sorted values, with their gradient."""
    return values.sort(-1).values


def reference(values: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ranks (n,) and gradient of one instance, by pool-adjacent-violators in plain Python."""
    order = np.argsort(values, kind="stable")
    z = values[order].astype(float)
    w = np.arange(1.0, len(z) + 1)
    pools: list[tuple[float, int]] = []
    for x in z - w:
        total, count = float(x), 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            before = pools.pop()
            total, count = total + before[0], count + before[1]
        pools.append((total, count))
    number = np.repeat(np.arange(len(pools)), [count for _, count in pools])
    means = np.array([total / count for total, count in pools])
    ranks, gradient = np.empty_like(z), np.empty_like(z)
    ranks[order] = z - means[number]
    own = slope[order].astype(float)
    sums = np.bincount(number, own) / np.bincount(number)
    gradient[order] = own - sums[number]
    return ranks, gradient


def check(values: Tensor, slope: Tensor, found: dict[str, tuple[Tensor, Tensor]]) -> bool:
    """Whether the answers agree."""
    n = values.shape[-1]
    wanted = reference(values[0].numpy(), slope[0].numpy())
    ranks, gradient = found["sparsewood"]
    good = np.abs(ranks[0].numpy() - wanted[0]).max() <= TOL * n
    # Float32 values may move a border between two pools, and with it a part of the gradient.
    good &= np.mean(np.abs(gradient[0].numpy() - wanted[1]) > 1e-3) < 0.01
    sums = ranks.double().sum(-1)
    good &= bool((sums / (n * (n + 1) / 2) - 1).abs().max() < 1e-6)
    for other, other_gradient in found.values():
        good &= bool((other - ranks).abs().max() <= TOL * n)
        good &= float(((other_gradient - gradient).abs() > 1e-3).double().mean()) < 0.01
    return bool(good)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--spread", type=float, default=0.25, help="standard deviation / n")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    libraries, good = peers(), True
    table = Table(title=f"soft_rank, forward and backward: {args.batch} instances, float32")
    ratios = [f"{name} / sparsewood" for name in libraries if name != "sparsewood"]
    for name in ("n", *libraries, "torch.sort", *ratios):
        table.add_column(name, justify="right")
    table.add_column("sparsewood / torch.sort", justify="right")
    with threads(args.threads):
        for n in args.sizes:
            generator = torch.Generator().manual_seed(n)
            values = args.spread * n * torch.randn(args.batch, n, generator=generator)
            slope = torch.randn(args.batch, n, generator=generator)
            found = {name: step(ranks, values, slope) for name, ranks in libraries.items()}
            good &= check(values, slope, found)
            times = {
                name: seconds(partial(step, ranks, values, slope), args.repeats).best
                for name, ranks in {**libraries, "torch.sort": sort}.items()
            }
            own = times["sparsewood"]
            others = [f"{times[name] / own:.1f}x" for name in libraries if name != "sparsewood"]
            shown = [f"{1000 * time:.2f} ms" for time in times.values()]
            table.add_row(str(n), *shown, *others, f"{own / times['torch.sort']:.1f}x")
    console = Console()
    console.print(table)
    if not good:
        console.print("[red]The answers differ.[/]")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
