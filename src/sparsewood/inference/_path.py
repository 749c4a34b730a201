r"""SparseMAP at every temperature of one instance: the path from the MAP structure upwards.

With `s = 1 / temperature` the projection of the ray `s scores` onto the polytope is piecewise
linear in `s` (parametric quadratic programming; Best 1996, "An algorithm for the solution of the
parametric quadratic programming problem"). On a fixed support S, with `G = M_S^T D M_S + 1 1^T`,

    q(s) = s a + b,    a = J M_S^T scores,    b = G^-1 1 / (1^T G^-1 1)

and J as in `_derivatives`. At `s = infinity` S holds the MAP structure, or the SparseMAP support
over several that tie. From there `s` decreases until the first of two events:

- a weight reaches zero: its structure leaves;
- a structure h outside S reaches the score of the structures in S on `s scores - D u(s)`: it
  enters. The advantage of one structure is linear in `s`, so the maximum over all is convex. The
  oracle, called at the lower end of the segment, returns a structure with a positive advantage;
  called where that structure ties, it returns another, until none has one (Newton's method from
  below, finite).

An oracle call that finds no advantage certifies its point. By convexity, two certified points
certify everything between them, so the path is exact, not sampled. If weights are not unique, a
structure that leaves is replaced by another one of the same face at the same `s`.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood.inference._active_set import TILTS, ActiveSet, Answer, Optimum, StopRule, line

_EPS = torch.finfo(torch.float64).eps
_TOP = 1e10  # 1 / temperature, relative to the range of scores, at which ties are decided
_MOST = 1e60  # bound on `s` that avoids overflow
_ZERO = 1e-13  # a weight or an advantage below this is rounding
_SAME = 1e-10  # relative distance at which breakpoints count as equal
_TILT = 1e-12  # breaks ties: far above rounding, far below any tolerance
_NEGATIVE = 1e-9  # a weight below this means a missed breakpoint; above it is rounding
_AHEAD = 1e-6  # relative step of an ordinary solve past a point where steps cycle
_DETOURS = 20
_QUESTIONS = 1000  # oracle calls per segment: a safeguard
_AIM, _PROMISE = 1e-12, 1e-9  # gaps of such a solve


class Segment(NamedTuple):
    """A piece of the path with constant support; weights are `s slope + offset`."""

    structures: list[Tensor]  # K of (*event)
    slope: Tensor  # (K,)
    offset: Tensor  # (K,)
    begin: float  # the larger s
    end: float


class PathFollower(ActiveSet):
    """The path of one instance from `s = infinity` to `target`, and the optimum at its end.

    `theta` are the scores, not divided by a temperature. With `most`, the path ends before the
    support would exceed it: `optimum` is the optimum there, `newcomer` the structure that ties.
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
        self.ties = False  # several structures tie for the best score
        self.tied = False  # more than `most` structures at any temperature
        self.stalled = False
        self.detours = 0

    def follow(self) -> Generator[Tensor, Answer, None]:
        """Yields potentials (P,) for the oracle, and is sent its answers."""
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
        """Compute the gap at the end of the path."""
        u = self.optimum.weights @ self.optimum.parts
        residual = self.end * self.theta - self._keep(u)
        best = yield from self._ask(residual)
        gap = float((residual * (best.column - u)).sum())
        self.optimum = replace(self.optimum, gap=gap)

    @property
    def _full(self) -> bool:
        return self.most is not None and len(self.structures) > self.most

    def _step(self) -> Generator[Tensor, Answer, bool]:
        """One segment: find its end, and the structure that enters or leaves. False: the last."""
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
            rounding = 8 * _EPS * float(1 + (residual * best.column).abs().sum())
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
        """The largest value below s at which a weight reaches zero, and its index."""
        falls = slope > 0
        at = torch.where(falls, -offset / torch.where(falls, slope, 1), -torch.inf)
        end, leaving = at.max(0)
        return min(float(end), self.s), int(leaving)

    def _tie(self, column: Tensor, slope: Tensor, offset: Tensor) -> float:
        """The s at which a structure, which has an advantage at smaller s, ties with S."""
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
        else:  # the SparseMAP support over the best structures, the limit for large s
            self.ties = True
            yield from self._solve_at(self.top)
        self.f = torch.zeros_like(self.f)  # they tie: differences are rounding
        self.tied = self._full
        return not self.tied

    def _pass_by(self) -> Generator[Tensor, Answer, bool]:
        """If steps cycle at one s, continue from an ordinary solve slightly below it."""
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
        """Replace the active set by the optimum at s, solved from scratch."""
        other = ActiveSet(s * self.theta, self.penalised)
        steps = 100 + 10 * len(self.theta)
        yield from other.run(StopRule(_AIM, _PROMISE, TILTS, len(self.theta) + 1, steps))
        self.calls += other.calls
        found = other.optimum
        self.structures, self.parts, self.gram = found.structures, found.parts, found.gram
        self.weights, self.gap = found.weights, found.gap
        self.f = (self.theta * (self.parts - self.reference)).sum(1)
