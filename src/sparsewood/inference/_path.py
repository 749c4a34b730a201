r"""SparseMAP at every temperature of one instance: the path from the MAP structure upwards.

With `s = 1 / temperature` the projection of the ray `s scores` onto the polytope is piecewise
linear in `s` (parametric quadratic programming; Best 1996, "An algorithm for the solution of the
parametric quadratic programming problem"). On a fixed support S, with `G = M_S^T D M_S + 1 1^T`,

    q(s) = s a + b,    a = J M_S^T scores,    b = G^-1 1 / (1^T G^-1 1)

and J as in `_derivatives`. At `s = infinity` S holds the MAP structure, or what SparseMAP keeps of
several that tie. From there `s` falls to where the first of two things happens:

- a weight reaches zero: its structure leaves;
- a structure h, not in S, comes to score as much as those of S on `s scores - D u(s)`: it enters.
  Its advantage is linear in `s`, and the largest of all structures is convex: asked at the lower
  end of the segment, the oracle names one that is above; asked again where that one ties, it names
  another, until none is (Newton's method, finite and from below).

A question that finds nobody above certifies the point it was asked for. Convexity then covers what
lies between two such points, so that the path is exact, not sampled. Where weights are not unique,
a structure that leaves is replaced by another one of the same face, at the same `s`.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood.inference._active_set import TILTS, ActiveSet, Answer, Limits, Optimum, line

_EPS = torch.finfo(torch.float64).eps
_TOP = 1e10  # 1 / temperature in units of the range of scores: structures that tie there, tie
_MOST = 1e60  # no score times that is beyond all numbers
_ZERO = 1e-13  # a weight or an advantage below this is rounding
_SAME = 1e-10  # breakpoints are one where they are so near to each other, relative to their size
_TILT = 1e-12  # breaks ties between structures: far above rounding, far below any tolerance
_NEGATIVE = 1e-9  # a weight below this has left already; above it is rounding
_AHEAD = 1e-6  # how far, relatively, an ordinary solve goes past a point where steps do not end
_DETOURS = 20
_QUESTIONS = 1000  # about one segment: a safety
_AIM, _PROMISE = 1e-12, 1e-9  # gaps of such a solve


class Segment(NamedTuple):
    """A piece of the path on which the support stays as it is; weights are `s slope + offset`."""

    structures: list[Tensor]  # K of (*event)
    slope: Tensor  # (K,)
    offset: Tensor  # (K,)
    begin: float  # the larger s
    end: float


class Path(ActiveSet):
    """The path of one instance from `s = infinity` to `target`, and the optimum at its end.

    `theta` are the scores, divided by no temperature. With `most` the path ends where more
    structures than that would remain: `optimum` is the one there, `newcomer` what ties with it.
    """

    def __init__(
        self, theta: Tensor, penalised: Tensor | None, target: float, most: int | None = None
    ) -> None:
        super().__init__(theta, penalised)
        self.spread = float(theta.max() - theta.min()) if len(theta) else 0.0
        random = torch.Generator().manual_seed(0)
        self.tilt = torch.rand(theta.shape, dtype=torch.float64, generator=random)
        self.target, self.most = target, most
        self.s = self.top = max(min(_TOP / (self.spread or 1.0), _MOST), 2 * target)
        self.end = self.top  # the s of `optimum`
        self.gap = 0.0  # at s
        self.segments: list[Segment] = []
        self.newcomer: Answer | None = None
        self.ties = False  # several structures score best
        self.tied = False  # so many that more than `most` remain at any temperature
        self.stalled = False
        self.detours = 0

    def follow(self) -> Generator[Tensor, Answer, None]:
        """Yields potentials (P,) for the oracle, and is sent what it finds."""
        first = yield from self._ask(self.theta)
        self.reference = first.column
        self._insert(first, 1.0)
        yield from self._descend()
        if not self.tied:
            yield from self._certify()

    def _descend(self) -> Generator[Tensor, Answer, None]:
        still = 0
        for _ in range(1000 + 100 * len(self.theta)):
            before = self.s
            goes_on = yield from self._step()
            still = still + 1 if self.s >= before * (1 - _SAME) else 0
            if goes_on and still > 20 + 2 * len(self.structures):
                still = 0
                goes_on = yield from self._pass_by()
            if not goes_on:
                return
        self.stalled = True

    def _certify(self) -> Generator[Tensor, Answer, None]:
        """The gap at the end, of the scores themselves."""
        u = self.optimum.weights @ self.optimum.parts
        residual = self.end * self.theta - self._keep(u)
        best = yield from self._ask(residual)
        gap = float((residual * (best.column - u)).sum())
        self.optimum = replace(self.optimum, gap=gap)

    @property
    def _full(self) -> bool:
        return self.most is not None and len(self.structures) > self.most

    def _step(self) -> Generator[Tensor, Answer, bool]:
        """One segment: find where it ends, and who enters or leaves there. False: the last."""
        factor = torch.linalg.cholesky(self.gram)
        slope, offset = line(self.gram, factor, self.f)
        goal = self.s * slope + offset
        if (goal < -_NEGATIVE).any():
            self._walk(goal, goal < -_NEGATIVE)
            return True
        end, leaving = self._first_to_leave(slope, offset)
        if self._full and end < self.s * (1 - _SAME):
            return False
        end = max(end, self.target)
        newcomer, gap = None, self.gap
        for _ in range(_QUESTIONS):
            u = (end * slope + offset) @ self.parts
            residual = end * self.theta - self._keep(u)
            best = yield from self._ask(residual + _TILT * (1 + end * self.spread) * self.tilt)
            gap = float((residual * (best.column - u)).sum())
            rounding = 8 * _EPS * float(1 + (residual.abs() * best.column).sum())
            if gap <= max(rounding, _ZERO) or not self._outside(best.column, factor)[0]:
                break
            newcomer = best
            tie = self._tie(best.column, slope, offset)
            if tie >= self.s * (1 - _EPS):
                end, gap = self.s, self.gap
                break
            if tie <= end * (1 + _EPS):
                break
            end = tie
        if end < self.s:
            self.segments.append(Segment(self.structures, slope, offset, self.s, end))
        at_top, self.s, self.gap = end == self.top, end, gap
        self.weights = (end * slope + offset).clamp(min=0)
        if not self._full:
            self._record(newcomer if end > self.target else None)
        if end <= self.target:
            return False
        if newcomer is None:
            self._drop(leaving)
            return True
        return (yield from self._enter(newcomer, at_top))

    def _first_to_leave(self, slope: Tensor, offset: Tensor) -> tuple[float, int]:
        """Where, going down from s, the first weight reaches zero, and whose it is."""
        falls = slope > 0
        at = torch.where(falls, -offset / torch.where(falls, slope, 1), -torch.inf)
        end, leaving = at.max(0)
        return min(float(end), self.s), int(leaving)

    def _tie(self, column: Tensor, slope: Tensor, offset: Tensor) -> float:
        """Where a structure, which is above at a smaller s, scores as much as the active ones."""
        delta = column - self.parts[0]
        kept = self._keep(delta)
        rise = float((self.theta * delta).sum() - (slope @ self.parts * kept).sum())
        fixed = float((offset @ self.parts * kept).sum())
        return min(fixed / rise, self.top) if rise < 0 else self.top

    def _record(self, newcomer: Answer | None) -> None:
        """The optimum at s, without structures whose weight is zero there."""
        stay = self.weights > _ZERO
        gram = self.gram[stay][:, stay]
        kept = [one for one, keep in zip(self.structures, stay, strict=True) if keep]
        weights = self.weights[stay] / self.weights[stay].sum()
        self.optimum = Optimum(kept, self.parts[stay], gram, weights, self.gap)
        self.end, self.newcomer = self.s, newcomer

    def _enter(self, newcomer: Answer, at_top: bool) -> Generator[Tensor, Answer, bool]:
        if not at_top:
            self._insert(newcomer, 0.0)
            return True
        if self.ties:
            self._insert(newcomer, 0.0)
        else:  # what SparseMAP keeps of those that score best, as s goes to infinity
            self.ties = True
            yield from self._solve_at(self.top)
        self.f = torch.zeros_like(self.f)  # they tie: what is left of the differences is rounding
        self.tied = self._full
        return not self.tied

    def _pass_by(self) -> Generator[Tensor, Answer, bool]:
        """Where steps at one s do not end: go on from an ordinary solution a little below it."""
        before, self.s = self.s, max(self.s * (1 - _AHEAD), self.target)
        self.detours += 1
        self.stalled = self.detours > _DETOURS
        if self.stalled:
            return False
        yield from self._solve_at(self.s)
        if self._full:
            return False
        factor = torch.linalg.cholesky(self.gram)
        segment = Segment(self.structures, *line(self.gram, factor, self.f), before, self.s)
        self.segments.append(segment)
        self._record(None)
        return self.s > self.target

    def _solve_at(self, s: float) -> Generator[Tensor, Answer, None]:
        """Replace the active set by the optimum at s, found from the beginning."""
        other = ActiveSet(s * self.theta, self.penalised)
        steps = 100 + 10 * len(self.theta)
        yield from other.run(Limits(_AIM, _PROMISE, TILTS, len(self.theta) + 1, steps))
        self.calls += other.calls
        found = other.optimum
        self.structures, self.parts, self.gram = found.structures, found.parts, found.gram
        self.weights, self.gap = found.weights, found.gap
        self.f = (self.theta * (self.parts - self.reference)).sum(1)
