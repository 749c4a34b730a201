r"""SparseMAP for any structure with a MAP oracle: the reference solver, in plain PyTorch.

The problem, for part scores `theta` (divided by the temperature) and one column `m(h)` of `M`, 0/1
or numbers, for each structure `h` (Niculae, Martins, Blondel & Cardie 2018, "SparseMAP", section
3):

    q* = argmax_{q in simplex}  <theta, M q> - 1/2 ||D M q||^2,      u* = M q*

where `D` selects the penalised parts (all parts in most families). The active set method (Nocedal &
Wright 2006, ch. 16; Wolfe 1976) maintains a set S of structures:

1. Solve the problem over S subject only to `sum q = 1`. With `G = M_S^T D M_S + 1 1^T` and
   `f = M_S^T theta` the solution is `q = G^-1 (f + c 1)`, with `c` such that q sums to 1.
2. If some weight is not positive, move from the old weights towards the new ones until the first
   reaches zero, drop that structure, go to 1.
3. Otherwise call the oracle for the best structure on `theta - D u`. Its advantage over the active
   structures, `max_h <theta - D u, m(h)> - <theta - D u, u>`, is the duality gap. If it is small,
   stop; otherwise the structure enters S with weight zero, go to 1. If its penalised parts are an
   affine combination of those in S, it replaces one of them instead (a simplex pivot).

The oracle is called for all instances of a batch together. The linear algebra runs per instance, on
the parts that the instance reads, so neither the batch nor padding changes a bit of an answer.

Tilting: the best structure on `theta - u` changes all parts at once, so that entering it approaches
the solution like a binary expansion. The last weights would be 1e-10 and less, and structures with
weights below the tolerance, which never enter, would be missing from the gradient. Therefore the
oracle is also called with random perturbations of the scores, of the size of the gap. The structure
found enters instead if its own advantage is at least a tenth of the gap. This avoids tiny weights
and needs as many steps.

Parts that are numbers are divided by a power of two `c`, the size of the largest part of the MAP
structure, and `theta` as well: the objective is then divided by `c^2`, the tolerances fit any unit
of measurement, and `G` is well conditioned.

Closed form: some families know structures of the support and their weights. Step 3 certifies them.
"""

from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood._internal.batch import name_instance
from sparsewood.inference._active_set import TILTS, ActiveSet, Answer, Start, StopRule
from sparsewood.inference._canonical_by_oracle import CanonicalByOracle
from sparsewood.inference._check import check_finite, check_magnitude, no_structure_left
from sparsewood.inference._derivatives import differentiable
from sparsewood.inference._oracle_check import check_maximises, naming
from sparsewood.inference._path import PathFollower
from sparsewood.inference._preferences import preferences
from sparsewood.inference._solution import Solution
from sparsewood.status import Status
from sparsewood.structures.base import Structure
from sparsewood.structures.oracle_error import OracleError

# (instances, potentials (R, *parts)) -> the best structure of each (R, *event), its parts (R, P)
Oracle = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
Run = Generator[Tensor, Answer, None]  # yields potentials for the oracle, is sent its answers


class Table(NamedTuple):
    """The allowed parts of an instance."""

    theta: Tensor  # (P,), divided by `unit`
    allowed: Tensor  # (P,) their indices
    penalised: Tensor | None  # (P,) 0/1
    unit: float


class Questions(NamedTuple):
    """The problems of a batch."""

    theta: Tensor  # (B, *parts) float64, scores / temperature
    allowed: Tensor  # (B, P) bool on the CPU, the parts that are read and not forbidden
    penalised: Tensor | None  # (P,) 0/1 on the CPU
    oracle: Oracle
    units: Tensor | None = None  # (B,) on the CPU, by which numbers are divided; None: 0/1 parts

    def tables(self) -> list[Table]:
        counted = self.penalised
        units = [1.0] * len(self.theta) if self.units is None else self.units.tolist()
        return [
            Table(
                table[mask] / unit,
                mask.nonzero()[:, 0],
                None if counted is None else counted[mask],
                unit,
            )
            for table, mask, unit in zip(
                self.theta.flatten(1).cpu(), self.allowed, units, strict=True
            )
        ]


def solve(
    scores: Tensor,
    structure: Structure,
    lengths: Tensor | None,
    temperature: Tensor,
    tol: float,
    max_active: int | None,
    max_iter: int | None,
    max_support: int | None,
    canonical: bool,
) -> Solution:
    """SparseMAP of each instance; takes the arguments of `sparsemap`, already checked.

    Without `max_iter`, the limit is `100 + 10 * parts` QP solves, far more than needed. Reaching it
    gives `Status.LIMITED`.
    """
    options = structure, lengths, tol, max_active, max_iter, max_support, canonical
    return differentiable(partial(_solve, *options), scores, temperature)


def _solve(
    structure: Structure,
    lengths: Tensor | None,
    tol: float,
    max_active: int | None,
    max_iter: int | None,
    max_support: int | None,
    canonical: bool,
    scores: Tensor,
    temperature: Tensor,
) -> Solution:
    asked = questions(scores, structure, lengths, temperature)
    caps = tol, max_active, max_iter, max_support
    w = preferences(scores.shape[1:]).flatten() if canonical else None
    # A perturbation must not turn costs into rewards.
    tilts = tuple(-tilt for tilt in TILTS) if structure.costs_only else TILTS
    problems = [_Problem(table, structure.binary, w, *caps, tilts) for table in asked.tables()]
    for b, problem in enumerate(problems):
        if not problem.caps:
            length = None if lengths is None else lengths[b].cpu()
            problem.start = _closed_form(structure, asked.theta[b].cpu(), length, problem)
    runs = [problem.run() for problem in problems]
    ask_together(runs, [problem.allowed for problem in problems], asked)
    ended = [one.set.ended(one.allowed, one.binary) for one in problems]
    check_maximises(structure, scores.shape[1:], asked.oracle, ended)
    return _collect(problems, scores, temperature)


def _closed_form(
    structure: Structure, theta: Tensor, length: Tensor | None, problem: "_Problem"
) -> Start | None:
    """The structures and weights that the family knows for scores `theta` (*parts)."""
    found = structure.spanning(theta, length)
    if found is None:
        return None
    structures, weights = found
    parts = structure.indicator(structures, tuple(theta.shape)).flatten(1)
    return Start(list(structures), parts[:, problem.allowed] / problem.unit, weights)


def questions(
    scores: Tensor, structure: Structure, lengths: Tensor | None, temperature: Tensor
) -> Questions:
    """The problems, after checks of the values, and an oracle for batches of them."""
    reads = structure.reads(scores, lengths)
    check_finite(scores, reads)
    forbidden = reads & (scores == -torch.inf)
    allowed = reads & ~forbidden
    divisor = temperature.reshape(-1, *[1] * (scores.ndim - 1))
    theta = torch.where(allowed, scores, 0).double() / divisor
    check_magnitude(theta, allowed)

    def oracle(rows: Tensor, potentials: Tensor) -> tuple[Tensor, Tensor]:
        rows, potentials = rows.to(scores.device), potentials.to(scores.device)
        table = potentials.masked_fill(forbidden[rows], -torch.inf)
        try:
            best = structure.argmax(table, None if lengths is None else lengths[rows])
            parts = structure.indicator(best, tuple(scores.shape[1:]))
        except OracleError as error:
            raise error.renumbered(rows) from error.__cause__
        dead = (parts.bool() & forbidden[rows]).flatten(1).any(-1)
        if dead.any():
            raise no_structure_left(int(rows[dead][0]), scores)
        return best, parts.flatten(1)

    counted = structure.penalised(scores)
    penalised = None if counted is None else counted.flatten().double().cpu()
    rest = theta, allowed.flatten(1).cpu(), penalised
    if structure.binary:
        return Questions(*rest, oracle)
    units = _units(oracle(torch.arange(len(scores)), theta)[1], structure)

    def scaled(rows: Tensor, potentials: Tensor) -> tuple[Tensor, Tensor]:
        best, parts = oracle(rows, potentials)
        return best, parts / units[rows.to(units.device), None]

    return Questions(*rest, scaled, units.cpu())


def _units(parts: Tensor, structure: Structure) -> Tensor:
    """(B,) powers of two of the size of the largest of parts (B, P), which must be finite."""
    largest = parts.abs().amax(-1)
    bad = (~largest.isfinite()).nonzero()
    if len(bad):
        raise ValueError(
            f"{name_instance(int(bad[0]), len(parts))}: {structure}.indicator returned a number "
            "that is not finite"
        )
    unit = torch.exp2(largest.log2().ceil().clamp(min=-500, max=500))
    return torch.where(largest > 0, unit, 1.0)


class _Problem:
    """The problem of one instance, over its allowed parts."""

    def __init__(
        self,
        table: Table,
        binary: bool,
        w: Tensor | None,
        tol: float,
        max_active: int | None,
        max_iter: int | None,
        max_support: int | None,
        tilts: tuple[float, ...],
    ) -> None:
        theta, allowed, penalised, self.unit = table
        self.binary = binary
        self.start: Start | None = None
        count = len(theta)
        scale = float(theta.max() - theta.min()) if count else 0.0
        scale = scale or 1.0  # all scores are equal
        self.promise = tol * scale
        self.caps = any(cap is not None for cap in (max_active, max_iter, max_support))
        self.allowed = allowed
        self.max_support = max_support
        self.w = None if w is None else w[allowed]
        self.canonical = False
        self.set = ActiveSet(theta, penalised)
        most = max_active or max_support
        self.limits = StopRule(
            aim=tol * min(scale, 1.0),
            promise=self.promise,
            # With a limit on steps or structures, always enter the best structure.
            tilts=() if self.caps else tilts,
            most=count + 1 if most is None else most,
            steps=100 + 10 * count if max_iter is None else max_iter,
        )

    def run(self) -> Run:
        """Solve; if `w` is given, replace the weights by canonical ones."""
        if self.max_support is None:
            yield from self.set.run(self.limits, self.start)
        else:
            yield from self._at_most()
        if self.w is None or self.status != Status.SOLVED:
            return
        theta = self.set.theta * self.cooling
        binary = self.binary
        search = CanonicalByOracle(self.set.optimum, theta, self.set.penalised, self.w, binary)
        found = yield from search.run()
        self.set.calls += search.calls
        if found is None or abs(found.gap) > self.promise * self.cooling:
            return
        if self.max_support is None or len(found.weights) <= self.max_support:
            self.set.optimum, self.canonical = found, True

    def _at_most(self) -> Run:
        """Solve at the temperature at which `max_support` structures suffice."""
        theta, penalised = self.set.theta, self.set.penalised
        self.set = path = PathFollower(theta, penalised, 1.0, self.limits.most)
        yield from path.follow()
        if path.tied:  # too many remain at any temperature
            self.set = ActiveSet(theta, penalised)
            self.set.calls = path.calls
            yield from self.set.run(self.limits)

    @property
    def cooling(self) -> float:
        """The factor by which the given temperature is divided."""
        return self.set.end if isinstance(self.set, PathFollower) else 1.0

    @property
    def tie(self) -> Tensor | None:
        """The column of the structure that would enter next."""
        if isinstance(self.set, PathFollower) and self.set.newcomer is not None:
            return self.set.newcomer.column
        return None

    @property
    def calls(self) -> int:
        """The number of oracle calls, one of which gives `unit`."""
        return self.set.calls + (not self.binary)

    @property
    def status(self) -> Status:
        """Solved if the gap is within the promise; a negative gap shows the size of rounding."""
        if abs(self.set.optimum.gap) <= self.promise * self.cooling:
            return Status.SOLVED
        if self.set.capped:
            return Status.CAPPED if self.caps else Status.LIMITED
        return Status.STALLED


def ask_together(runs: list[Run], allowed: list[Tensor], questions: Questions) -> None:
    """Run all generators to their end, batching their oracle calls."""
    theta = questions.theta
    asked = {b: next(run) for b, run in enumerate(runs)}
    while asked:
        rows = torch.tensor(list(asked))
        table = torch.zeros(len(asked), theta[0].numel(), dtype=torch.float64)
        for row, (b, potentials) in zip(table, asked.items(), strict=True):
            row[allowed[b]] = potentials
        table = table.reshape(-1, *theta.shape[1:])
        structures, parts = (found.cpu() for found in questions.oracle(rows, table))
        answers = zip(list(asked), structures, parts, strict=True)
        asked = {}
        for b, structure, column in answers:
            answer = Answer(structure, column[allowed[b]].double())
            with suppress(StopIteration), naming(b):
                asked[b] = runs[b].send(answer)


def _collect(problems: list[_Problem], scores: Tensor, temperature: Tensor) -> Solution:
    """The solutions of all problems, in the form that `native` returns."""
    sets = [problem.set.optimum for problem in problems]
    count = scores[0].numel()
    weights, marginals, used, ties, factors = [], [], [], [], []
    for problem, one in zip(problems, sets, strict=True):
        weights.append(one.weights)
        u = torch.zeros(count, dtype=torch.float64)
        u[problem.allowed] = one.weights @ one.parts * problem.unit
        marginals.append(u)
        used += [_used(problem, column, count) for column in one.parts]
        ties.append(_used(problem, problem.tie, count))
        factors.append(_packed(one.gram, problem.unit))
    cooling = torch.tensor([problem.cooling for problem in problems], dtype=torch.float64)
    found = Solution(
        weights=torch.cat(weights).to(scores.dtype),
        marginals=torch.stack(marginals).reshape(scores.shape).to(scores.dtype),
        structures=torch.stack([structure for one in sets for structure in one.structures]),
        sizes=torch.tensor([len(one.weights) for one in sets]),
        gap=torch.tensor(
            [
                max(0.0, one.gap) * problem.unit**2
                for problem, one in zip(problems, sets, strict=True)
            ],
            dtype=torch.float64,
        ),
        status=torch.tensor([int(problem.status) for problem in problems]),
        factor=torch.cat(factors),
        used=_padded(used),
        calls=torch.tensor([problem.calls for problem in problems]),
        canonical=torch.tensor([problem.canonical for problem in problems]),
        temperature=temperature / cooling.to(temperature.device),
        tie=_padded(ties),
    )
    return Solution(*(tensor.to(scores.device) for tensor in found))


def _packed(gram: Tensor, unit: float) -> Tensor:
    """The packed Cholesky factor of `unit^2 gram`, with the reciprocal of its diagonal."""
    factor = torch.linalg.cholesky(gram)
    factor *= unit
    factor.diagonal().reciprocal_()
    low = torch.tril_indices(*factor.shape)
    return factor[low[0], low[1]]


def _used(problem: _Problem, column: Tensor | None, count: int) -> Tensor:
    """A structure as in `Solution.used`, from its allowed parts; None: no structure."""
    if problem.binary:
        return problem.allowed[:0] if column is None else problem.allowed[column.bool()]
    if column is None:
        return torch.full((count,), torch.nan, dtype=torch.float64)
    row = torch.zeros(count, dtype=torch.float64)
    row[problem.allowed] = column * problem.unit
    return row


def _padded(rows: list[Tensor]) -> Tensor:
    """Indices as (rows, *), padded with -1."""
    width = max(map(len, rows))
    return torch.stack([pad(index, (0, width - len(index)), value=-1) for index in rows])
