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
from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood.inference._active_set import ActiveSet, Answer, Limits, Optimum, line

_EPS = torch.finfo(torch.float64).eps
_TOP = 1e10  # 1 / temperature in units of the range of scores: structures that tie there, tie
_SAME = 1e-10  # breakpoints are one where they are so near to each other, relative to their size
_NEGATIVE = 1e-9  # a weight below this has left already; above it is rounding
_AHEAD = 1e-6  # how far, relatively, an ordinary solve goes past a point where steps do not end
_TILTS = (0.1, 0.3)


class Segment(NamedTuple):
    """A piece of the path on which the support stays as it is; weights are `s slope + offset`."""

    structures: list[Tensor]  # K of (*event)
    slope: Tensor  # (K,)
    offset: Tensor  # (K,)
    begin: float  # the larger s
    end: float


class Path(ActiveSet):
    """The path of one instance from `s = infinity` to `target`, and the optimum at its end.

    `theta` are the scores, not divided by any temperature. With `most` the path ends where more
    structures than that would remain; `newcomer` is then the one that ties there.
    """

    def __init__(
        self,
        theta: Tensor,
        penalised: Tensor | None,
        target: float,
        most: int | None = None,
    ) -> None:
        super().__init__(theta, penalised)
        spread = float(theta.max() - theta.min()) if len(theta) else 0.0
        self.target, self.most = target, most
        self.s = self.top = max(_TOP / (spread or 1.0), 2 * target)
        self.segments: list[Segment] = []
        self.newcomer: Answer | None = None
        self.ties = False  # several structures score best
        self.tied = False  # more than `most` structures already at s = infinity
        self.gap = 0.0  # at s
        self.restarts = 0

    def follow(self) -> Generator[Tensor, Answer, None]:
        """Yields potentials (P,) for the oracle, and is sent what it finds."""
        first = yield from self._ask(self.theta)
        self.reference = first.column
        self._insert(first, 1.0)
        still = 0
        for _ in range(1000 + 100 * len(self.theta)):
            before = self.s
            if not (yield from self._step()):
                return
            still = still + 1 if self.s >= before * (1 - _SAME) else 0
            if still > 20 + 2 * len(self.structures):
                still = 0
                if not (yield from self._pass_by()):
                    return
        self._stall()

    def _step(self) -> Generator[Tensor, Answer, bool]:
        """One segment: find where it ends, and who enters or leaves there. False: the last."""
        factor = torch.linalg.cholesky(self.gram)
        slope, offset = line(self.gram, factor, self.f)
        goal = self.s * slope + offset
        if (goal < -_NEGATIVE).any():
            self._walk(goal, goal < -_NEGATIVE)
            return True
        end, leaving = self._first_to_leave(slope, offset)
        if self.most is not None and len(slope) > self.most and end < self.s * (1 - _SAME):
            return False
        end = max(end, self.target)
        newcomer = None
        while True:
            u = (end * slope + offset) @ self.parts
            residual = end * self.theta - self._keep(u)
            best = yield from self._ask(residual)
            gap = float((residual * (best.column - u)).sum())
            rounding = 8 * _EPS * float(1 + (residual.abs() * best.column).sum())
            if gap <= max(rounding, 1e-13) or not self._outside(best.column, factor)[0]:
                break
            newcomer = best
            tie = self._tie(best.column, slope, offset)
            if tie >= self.s * (1 - _EPS):
                end, gap = self.s, self.gap
                break
            if tie <= end:
                break
            end = tie
        return (yield from self._end_segment(slope, offset, end, gap, newcomer, leaving))

    def _end_segment(
        self,
        slope: Tensor,
        offset: Tensor,
        end: float,
        gap: float,
        newcomer: Answer | None,
        leaving: int,
    ) -> Generator[Tensor, Answer, bool]:
        if end < self.s:
            self.segments.append(Segment(self.structures, slope, offset, self.s, end))
        self.gap = gap
        self.weights = end * slope + offset
        at_top = end == self.top
        self.s = end
        if self.most is None or len(slope) <= self.most:
            self.newcomer = newcomer
            self._record()
        if newcomer is None:
            if end <= self.target:
                return False
            self._drop(leaving)
        elif at_top and not self.ties:
            return (yield from self._begin_with_ties())
        else:
            self._insert(newcomer, 0.0)
            if at_top:
                self.f[-1] = 0
        return True

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
        return fixed / rise if rise < 0 else self.top

    def _record(self) -> None:
        """The optimum at s, without structures whose weight is zero there."""
        stay = self.weights > 1e-13
        gram = self.gram[stay][:, stay]
        kept = [one for one, keep in zip(self.structures, stay, strict=True) if keep]
        weights = self.weights[stay] / self.weights[stay].sum()
        self.optimum = Optimum(kept, self.parts[stay], gram, weights, self.gap)

    def _begin_with_ties(self) -> Generator[Tensor, Answer, bool]:
        """Several structures score best: what SparseMAP keeps of them as s goes to infinity."""
        self.ties = True
        yield from self._solve_at(self.top)
        self.f = torch.zeros_like(self.f)  # they tie: what is left of the differences is rounding
        if self.most is not None and len(self.structures) > self.most:
            self.tied = True
            return False
        return True

    def _pass_by(self) -> Generator[Tensor, Answer, bool]:
        """Go on from an ordinary solution a little further down. False: that was the end."""
        self.restarts += 1
        before = self.s
        self.s = max(before * (1 - _AHEAD), self.target)
        if self.restarts > 20 or before == self.s:
            return False
        yield from self._solve_at(self.s)
        if self.most is not None and len(self.structures) > self.most:
            return False
        factor = torch.linalg.cholesky(self.gram)
        self.segments.append(
            Segment(self.structures, *line(self.gram, factor, self.f), before, self.s)
        )
        self.newcomer = None
        self._record()
        return self.s > self.target

    def _solve_at(self, s: float) -> Generator[Tensor, Answer, None]:
        """Replace the active set by the optimum at s, found from the beginning."""
        other = ActiveSet(s * self.theta, self.penalised)
        steps = 100 + 10 * len(self.theta)
        yield from other.run(Limits(1e-12, 1e-9, _TILTS, len(self.theta) + 1, steps))
        self.calls += other.calls
        found = other.optimum
        self.structures, self.parts, self.gram = found.structures, found.parts, found.gram
        self.weights, self.gap = found.weights, found.gap
        self.f = (self.theta * (self.parts - self.reference)).sum(1)

    def _stall(self) -> None:
        self.restarts = 21
