"""Every estimator against the exact gradient: bias, variance, cosine, oracle calls, time.

    python benchmarks/estimators.py [--draws 500] [--problems 8] [--estimators NAME ...]

Families and losses are small, so that the gradient of the expected loss is a sum over all
structures (`sparsewood.testing.exact_gradient`). The run fails if an unbiased estimator deviates
from it significantly, never because of a time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
from timing import seconds, threads
from torch import Tensor

import sparsewood as sp
from sparsewood.estimators import parse
from sparsewood.posterior import Posterior
from sparsewood.testing import draw_scores, exact_gradient
from sparsewood.testing.exact_gradient import Distribution

Loss = Callable[[Tensor], Tensor]  # parts (T, *parts) -> (T,)
LOSSES = ("linear", "quadratic", "MLP")


@dataclass(frozen=True)
class Entry:
    """A line of the tables.

    Attributes:
        name: name of the estimator, for `sparsewood.estimators.parse`.
        unbiased: losses for which its mean is the exact gradient.
        against: the distribution of the expected loss.
    """

    name: str
    unbiased: tuple[str, ...] = ()
    against: Distribution = "gibbs"

    @property
    def label(self) -> str:
        return self.name if self.against == "gibbs" else f"{self.name} (own gradient)"


ESTIMATORS = (
    Entry("sparsemap", LOSSES, against="sparsemap"),
    Entry("sparsemap"),
    Entry("top-k:k=5"),
    Entry("top-k:k=5,weights=sparsemax"),
    Entry("score-function:samples=8", LOSSES),
    Entry("score-function:samples=8,baseline=self-critic", LOSSES),
    Entry("score-function:samples=8,baseline=moving", LOSSES),
    Entry("sum-and-sample:k=5,samples=4", LOSSES),
    Entry("straight-through"),
    Entry("straight-through:backward=marginals", ("linear",)),
    Entry("spigot"),
    Entry("spigot:backward=ce"),
    Entry("spigot:backward=eg"),
    Entry("perturbed:samples=8"),
    Entry("imle:samples=8"),
    Entry("aimle:samples=8"),
    Entry("blackbox"),
    Entry("relaxed"),
    Entry("gibbs", ("linear",)),
)


@dataclass(frozen=True)
class Family:
    """A family, and the size of its instances."""

    name: str
    structure: sp.Structure
    shape: tuple[int, ...]
    size: tuple[int, ...]


FAMILIES = (
    Family("trees of 5 words", sp.DependencyTrees(), (5, 6), (5,)),
    Family("chains of 4 positions, 3 states", sp.LinearChain(), (4, 3, 4), (4, 3)),
    Family("matchings of 4 with 4", sp.Matching(), (4, 4), (4, 4)),
)


@dataclass(frozen=True)
class Quality:
    """Gradients compared with the exact gradient `e`: means over the problems.

    Attributes:
        bias: `||mean - e|| / ||e||`.
        noise: its sampling error, `sqrt(variance / draws)`.
        variance: variance of a draw, `E ||g - mean||^2 / ||e||^2`.
        cosine, single: cosine of the mean with `e`, and of a draw with `e`.
    """

    bias: float
    noise: float
    variance: float
    cosine: float
    single: float

    @classmethod
    def of(cls, drawn: Tensor, exact: Tensor) -> Quality:
        """The quality of gradients (problems, draws, P), given exact gradients (problems, P)."""
        mean, size = drawn.mean(1), exact.norm(dim=-1)
        draws = drawn.shape[1]
        squares = (drawn - mean[:, None]).square().sum((1, 2)) / max(1, draws - 1)
        variance = squares / size.square()
        return cls(
            float(((mean - exact).norm(dim=-1) / size).mean()),
            float((variance / draws).sqrt().mean()),
            float(variance.mean()),
            float(torch.cosine_similarity(mean, exact, dim=-1).mean()),
            float(torch.cosine_similarity(drawn, exact[:, None], dim=-1).mean()),
        )


def loss_of(kind: str, family: Family) -> Loss:
    """A random loss of the parts, with a standard deviation of 1 over all structures."""
    size = torch.Size(family.shape).numel()
    matrix, hidden = draw_scores("normal", 2, (size, size), seed=5)
    weights = hidden[0]

    def raw(parts: Tensor) -> Tensor:
        x = parts.flatten(1)
        if kind == "linear":
            return x @ weights
        if kind == "quadratic":
            return ((x @ matrix) * x).sum(-1)
        return (x @ matrix).tanh() @ weights

    everything = family.structure.enumerate(*family.size)
    scale = raw(family.structure.indicator(everything, family.shape)).std()
    return lambda parts: raw(parts) / scale


def expected(post: Posterior, estimator: sp.Estimator, loss: Loss) -> Tensor:
    """The loss of each instance, with the gradient through weights or parts."""
    parts = post.parts if estimator.gradient_through == "parts" else post.parts.detach()
    return post.expect(loss(parts))


def gradients(
    estimator: sp.Estimator, family: Family, loss: Loss, scores: Tensor, generator: torch.Generator
) -> Tensor:
    """One draw of the gradient for each of (B, *parts)."""
    leaf = scores.clone().requires_grad_()
    post = estimator(leaf, family.structure, generator=generator)
    return torch.autograd.grad(expected(post, estimator, loss).sum(), leaf)[0]


def measure(entry: Entry, family: Family, kind: str, scores: Tensor, draws: int) -> Quality:
    """Quality on problems with scores (problems, *parts)."""
    estimator, loss = parse(entry.name), loss_of(kind, family)
    generator = torch.Generator().manual_seed(0)
    support = None
    if entry.against == "sparsemap":
        support = sp.sparsemap(scores, family.structure)
    exact = exact_gradient(
        scores, family.structure, loss, entry.against, size=family.size, support=support
    )
    repeats = draws if estimator.is_random else 1
    rows = scores.repeat_interleave(repeats, 0)
    gradients(estimator, family, loss, rows, generator)  # some adapt in the backward pass
    found = gradients(estimator, family, loss, rows, generator)
    drawn = found.reshape(len(scores), repeats, -1)
    return Quality.of(drawn, exact.gradient.flatten(1))


def cost(entry: Entry, family: Family, batch: int = 64) -> tuple[float, float]:
    """Oracle calls and microseconds per instance, for forward and backward on a batch."""
    estimator, loss = parse(entry.name), loss_of("linear", family)
    generator = torch.Generator().manual_seed(0)
    scores = draw_scores("normal", batch, family.shape, seed=1)

    def run() -> None:
        gradients(estimator, family, loss, scores, generator)

    with sp.count_calls() as calls:
        run()
    return calls.total / batch, 1e6 * seconds(run, 3).best / batch


def line(entry: Entry, cells: list[str], width: int) -> str:
    return f"{entry.label:{width}}" + "".join(f"{cell:>10}" for cell in cells)


def number(value: float) -> str:
    return f"{value:.1e}" if abs(value) >= 1e3 or 0 < abs(value) < 1e-3 else f"{value:.3f}"


def table(
    family: Family, entries: list[Entry], problems: int, draws: int
) -> tuple[list[str], list[str]]:
    """The lines of a family, and its failures."""
    scores = draw_scores("normal", problems, family.shape, seed=3)
    width = 1 + max(len(entry.label) for entry in entries)
    count = family.structure.count(*family.size)
    lines = [
        f"{family.name}: against the exact gradient of E[loss] over all {count} structures, of the",
        "Gibbs distribution; (own gradient): of the SparseMAP distribution",
    ]
    names = ["bias", "+-", "variance", "cos mean", "cos draw", "calls", "us"]
    costs: dict[Entry, tuple[float, float]] = {}
    wrong: list[str] = []
    lacking: dict[str, set[str]] = {}
    for kind in LOSSES:
        lines += ["", f"{kind + ' loss':{width}}" + "".join(f"{name:>10}" for name in names)]
        for entry in entries:
            try:
                found = measure(entry, family, kind, scores, draws)
                calls, time = costs.setdefault(entry, costs.get(entry) or cost(entry, family))
            except TypeError as error:
                if " needs " not in str(error):  # or the family lacks what the estimator needs
                    raise
                reason = str(error).partition(" needs ")[2].partition(";")[0]
                lacking.setdefault(reason, set()).add(entry.name.partition(":")[0])
                lines.append(line(entry, ["-"] * len(names), width))
                continue
            if kind in entry.unbiased and found.bias > 1e-6 + 2 * found.noise:
                wrong.append(f"{family.name}, {kind} loss, {entry.name}: bias {found.bias:.3f}")
            quality = [found.bias, found.noise, found.variance, found.cosine, found.single]
            cells = [*map(number, quality), f"{calls:.1f}", f"{time:.0f}"]
            lines.append(line(entry, cells, width))
    for reason, those in lacking.items():
        lines += ["", f"- {', '.join(sorted(those))}, as listed: needs {reason}"]
    return lines, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=500, help="of each problem")
    parser.add_argument("--problems", type=int, default=8, help="random scores of each family")
    parser.add_argument("--estimators", nargs="+", help="names; default: all of the list")
    options = parser.parse_args()
    entries = list(ESTIMATORS)
    if options.estimators:
        known = {entry.name for entry in ESTIMATORS}
        entries = [entry for entry in ESTIMATORS if entry.name in options.estimators]
        entries += [Entry(name) for name in options.estimators if name not in known]
    wrong: list[str] = []
    with threads(1):
        for family in FAMILIES:
            lines, bad = table(family, entries, options.problems, options.draws)
            print("\n".join([*lines, "", ""]))
            wrong += bad
    for problem in wrong:
        print(f"biased: {problem}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
