"""Certifies results: gaps by an independent oracle, and gradients by central differences.

    python benchmarks/certificate.py [--sizes 20 60] [--scales 0.3 1 3] [--peer PYTHON]

The run fails if one of our instances misses `TOL`, if the trees and weights do not reproduce the
marginals, or if the error of a vector-Jacobian product exceeds `GRADIENT_TOL`.
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

import instances
import numpy as np
import peer
import torch
from rich.console import Console
from rich.table import Table

import sparsewood as sp

TREES = sp.DependencyTrees()
TOL = 1e-9
LOOSE_TOL = 1e-6
GRADIENT_TOL = 1e-4
STEPS = (1e-2, 1e-3, 1e-4, 1e-5)  # large ones first: marginals are only as exact as the gap
KINK = 1e-5  # nonlinearity of the marginals over a step, relative to their change


def mixed_marginals(posterior: sp.SparsePosterior) -> torch.Tensor:
    """The marginals (B, n, n+1), recomputed from the trees and their weights."""
    mixed = torch.zeros_like(posterior.marginals)
    words = torch.arange(posterior.structures.shape[1]).expand_as(posterior.structures)
    instance = posterior.instance[:, None].expand_as(posterior.structures)
    weights = posterior.weights[:, None].expand(posterior.structures.shape)
    return mixed.index_put((instance, words, posterior.structures), weights, accumulate=True)


def certificates(run: argparse.Namespace) -> tuple[Table, bool]:
    """The share of instances certified by the independent oracle, ours and the peer's."""
    table = Table(
        "n", "scale", f"ours {TOL:g}", "largest gap", "trees mix to u", "support",
        f"peer {TOL:g}", f"peer {LOOSE_TOL:g}",
        title=f"Certified by ufal.chu_liu_edmonds, {run.count} instances each",
    )  # fmt: skip
    right, total = 0, 0
    for scale in run.scales:
        for n in run.sizes:
            scores = instances.random_scores(n, scale, run.count)
            posterior = sp.sparsemap(torch.from_numpy(scores), TREES, tol=TOL)
            marginals = posterior.marginals.numpy()
            ok = instances.certified(scores, marginals, TOL)
            mixing = float((mixed_marginals(posterior) - posterior.marginals).abs().max())
            theirs = ["-", "-"]
            if run.peer is not None:
                few = scores[: run.peer_count]
                answer = peer.solve(run.peer, few, max_iter=3000).marginals
                shares = [instances.certified(few, answer, t).mean() for t in (TOL, LOOSE_TOL)]
                theirs = [f"{share:.0%}" for share in shares]
            table.add_row(
                str(n), f"{scale:g}", f"{ok.mean():.0%}",
                f"{instances.gaps(scores, marginals).max():.1e}", f"{mixing:.0e}",
                f"{posterior.sizes.double().mean():.1f}", *theirs,
            )  # fmt: skip
            right, total = right + int(ok.sum()) * (mixing <= TOL), total + run.count
    table.caption = f"{right} of {total} certified at {TOL:g}"
    return table, right == total


class Products(NamedTuple):
    """Relative errors of two vector-Jacobian products along one direction of the scores."""

    weights: float
    marginals: float
    step: float
    same_trees: bool  # whether the solver kept the same trees at both ends of the step


def weights_on(trees: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Weights (K,) of the given trees (K, n): argmax of the objective with the support held fixed.

    The optimality conditions G q + tau 1 = f, 1^T q = 1 with G the overlaps of the trees and f
    their scores.
    """
    count = len(trees)
    system = torch.ones(count + 1, count + 1, dtype=scores.dtype)
    system[:count, :count] = (trees[:, None] == trees[None]).sum(dim=2)
    system[count, count] = 0
    values = torch.ones(count + 1, dtype=scores.dtype)
    values[:count] = scores.gather(1, trees.T).sum(dim=0)
    return torch.linalg.solve(system, values)[:count]


def follow(
    trees: torch.Tensor, scores: torch.Tensor, answer: sp.SparsePosterior
) -> tuple[torch.Tensor, bool]:
    """Weights of `trees` at nearby `scores`, and whether they equal those of `answer`.

    The distribution with given marginals need not be unique: if independent ambiguities tie, the
    solver may express nearby marginals by other trees. The function to differentiate is then the
    weights with fixed support.
    """
    found = dict(zip(map(tuple, answer.structures.tolist()), answer.weights, strict=True))
    keys = [tuple(tree) for tree in trees.tolist()]
    if found.keys() == set(keys):
        return torch.stack([found[key] for key in keys]), True
    return weights_on(trees, scores), False


def is_linear(below: torch.Tensor, middle: torch.Tensor, above: torch.Tensor) -> bool:
    """Whether marginals at three equal steps are on a line, i.e. on one linear piece."""
    bend = (above + below - 2 * middle).abs().max()
    return bool(bend <= KINK * (above - below).abs().max())


def products(scores: torch.Tensor, direction: torch.Tensor) -> Products | None:
    """Vector-Jacobian products of one instance (n, n+1) against central differences.

    Marginals are piecewise linear in the scores. The step is the largest one within one piece,
    where central differences are exact. None if there is none.
    """
    leaf = scores[None].clone().requires_grad_()
    posterior = sp.sparsemap(leaf, TREES, tol=TOL)
    trees, middle = posterior.structures, posterior.marginals.detach()[0]
    vector, field = torch.randn_like(posterior.weights), torch.randn_like(middle)
    for step in STEPS:
        ends = torch.stack((scores + step * direction, scores - step * direction))
        above, below = sp.sparsemap(ends, TREES, tol=TOL)
        if not is_linear(below.marginals, middle, above.marginals):
            continue
        up, up_same = follow(trees, ends[0], above)
        down, down_same = follow(trees, ends[1], below)
        weights = relative_error(
            leaf, posterior.weights, vector, direction, (up - down) / (2 * step)
        )
        slope = (above.marginals - below.marginals) / (2 * step)
        marginals = relative_error(leaf, posterior.marginals[0], field, direction, slope)
        return Products(weights, marginals, step, up_same and down_same)
    return None


def relative_error(
    leaf: torch.Tensor,
    output: torch.Tensor,
    cotangent: torch.Tensor,
    direction: torch.Tensor,
    slope: torch.Tensor,
) -> float:
    """|<J^T cotangent, direction> - <cotangent, slope>|, relative to the size of the product.

    The size is at least its expectation for random directions, so that rounding of a product that
    happens to be near zero is not a large error.
    """
    (gradient,) = torch.autograd.grad(output, leaf, cotangent, retain_graph=True)
    exact = (gradient[0] * direction).sum()
    typical = gradient.norm() * direction.norm() / direction.numel() ** 0.5
    return float((exact - (cotangent * slope).sum()).abs() / torch.maximum(exact.abs(), typical))


def gradients(run: argparse.Namespace) -> tuple[Table, bool]:
    """Worst relative errors of the products, over instances of 20 and 60 words."""
    table = Table(
        "n", "scale", "instances", "weights: worst", "marginals: worst", "steps", "same trees",
        "no step",
        title="Vector-Jacobian products against central differences, relative error",
    )  # fmt: skip
    torch.manual_seed(0)
    right = True
    for n in (20, 60):
        for scale in run.scales:
            scores = torch.from_numpy(instances.random_scores(n, scale, run.gradients))
            directions = torch.randn_like(scores)
            directions /= directions.flatten(1).norm(dim=1)[:, None, None]
            drawn = [products(s, d) for s, d in zip(scores, directions, strict=True)]
            kept = [p for p in drawn if p is not None]
            worst = [max((p[k] for p in kept), default=np.nan) for k in (0, 1)]
            steps = sorted({p.step for p in kept}, reverse=True)
            table.add_row(
                str(n), f"{scale:g}", str(len(drawn)), *(f"{w:.1e}" for w in worst),
                " ".join(f"{s:g}" for s in steps), str(sum(p.same_trees for p in kept)),
                str(len(drawn) - len(kept)),
            )  # fmt: skip
            right &= all(w <= GRADIENT_TOL for w in worst)
    table.caption = (
        "same trees: the solver chose the same trees at both ends of the step; "
        "no step: every step left the linear piece, not compared"
    )
    return table, right


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=instances.SIZES, help="words")
    parser.add_argument("--scales", type=float, nargs="+", default=instances.SCALES)
    parser.add_argument("--count", type=int, default=100, help="instances of each")
    parser.add_argument("--peer-count", type=int, default=100, help="of them for the peer")
    parser.add_argument("--gradients", type=int, default=10, help="instances for gradients")
    peer.add_option(parser)
    return parser.parse_args()


def main() -> int:
    run = arguments()
    run.peer = peer.find(run.peer)
    console = Console(width=None if sys.stdout.isatty() else 120)
    if run.peer is None:
        console.print("lp-sparsemap not found: only our results (see benchmarks/README.md)")
    right = True
    for check in (certificates, gradients):
        table, passed = check(run)
        console.print(table)
        right &= passed
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
