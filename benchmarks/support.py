"""At most k structures with a certificate: `max_support=k` against `max_active=k` and a full solve.

    python benchmarks/support.py [--families trees chains] [--most 5 10] [--scales 1 3]

`max_support` follows the temperature path upwards from the best structure. It is compared with the
full solve, with `max_active`, which has no certificate, and with a bisection of the temperature by
seven solves. The run fails if a solution of `max_support` has too many structures, is not
certified, or is not SparseMAP at its temperature.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
from continuity import FAMILIES
from rich.console import Console
from rich.table import Table
from timing import seconds, threads
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.base import Structure

SEARCHED = ("trees", "projective", "matchings", "chains", "binary", "subsets")
TOL = 1e-8  # of marginals, against those of a solve at the temperature found
HALVINGS = 7


def by_halving(scores: Tensor, structure: Structure, most: int) -> Tensor:
    """Oracle calls (B,) of a search for the largest temperature up to 1 with `most` structures."""
    low, high = torch.zeros(2, len(scores), dtype=torch.float64)
    high += 1
    calls = torch.zeros(len(scores), dtype=torch.int64)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        post = sp.sparsemap(scores, structure, temperature=middle)
        calls += post.calls
        few = post.sizes <= most
        low, high = torch.where(few, middle, low), torch.where(few, high, middle)
    return calls


@dataclass
class Cost:
    """The cost of an instance with one method."""

    calls: float
    milliseconds: float

    @classmethod
    def of(cls, solve: Callable[[], Tensor], repeats: int) -> Cost:
        """`solve` returns the calls of each instance."""
        calls = solve().double()
        return cls(float(calls.mean()), 1e3 * seconds(solve, repeats).best / len(calls))

    def __str__(self) -> str:
        return f"{self.calls:.1f}, {self.milliseconds:.2f}"


def is_right(post: sp.SparsePosterior, scores: Tensor, most: int) -> bool:
    """Whether the support is small enough, certified, and SparseMAP at its temperature."""
    again = sp.sparsemap(scores, post.structure, temperature=post.temperature)
    same = torch.allclose(post.marginals, again.marginals, rtol=0, atol=TOL)
    return same and bool(post.converged.all()) and int(post.sizes.max()) <= most


def add_row(
    table: Table, name: str, n: int, most: int, scale: float, run: argparse.Namespace
) -> bool:
    family = FAMILIES[name]
    structure, generator = family.make(n), torch.Generator().manual_seed(n)
    shape = run.count, *family.shape(n)
    scores = scale * torch.randn(shape, generator=generator, dtype=torch.float64)
    full = sp.sparsemap(scores, structure)
    capped = sp.sparsemap(scores, structure, max_active=most)
    post = sp.sparsemap(scores, structure, max_support=most)
    good = is_right(post, scores, most)
    ways: list[Callable[[], Tensor]] = [
        lambda: sp.sparsemap(scores, structure).calls,
        lambda: sp.sparsemap(scores, structure, max_active=most).calls,
        lambda: sp.sparsemap(scores, structure, max_support=most).calls,
        lambda: by_halving(scores, structure, most),
    ]
    costs = [Cost.of(way, run.repeats) for way in ways]
    shares = [float(answer.converged.double().mean()) for answer in (capped, post)]
    table.add_row(
        name if good else f"[red]{name}[/]", str(n), f"{scale:g}", str(most),
        f"{full.sizes.double().mean():.1f}", *map(str, costs),
        " / ".join(f"{share:.0%}" for share in shares),
        f"{post.temperature.median():.2f}",
    )  # fmt: skip
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(SEARCHED))
    parser.add_argument("--sizes", type=int, nargs="+", default=[20])
    parser.add_argument("--most", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--scales", type=float, nargs="+", default=[1.0, 3.0])
    parser.add_argument("--count", type=int, default=50, help="instances of each")
    parser.add_argument("--repeats", type=int, default=3, help="of what is timed")
    run = parser.parse_args()
    table = Table(
        "family", "n", "scale", "k", "all kept", "full solve", "max_active", "max_support",
        f"{HALVINGS} solves", "certified", "temperature",
        title="Oracle calls, milliseconds of an instance, one thread",
        caption="certified: max_active / max_support; temperature: the median of max_support's",
    )  # fmt: skip
    right = True
    with threads(1):
        for name in run.families:
            for n in run.sizes:
                for scale in run.scales:
                    for most in run.most:
                        right &= add_row(table, name, n, most, scale, run)
    Console(width=None if sys.stdout.isatty() else 140).print(table)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
