"""The active set of one SparseMAP problem; `generic` describes the method."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood.inference._oracle_check import Ended, check_best

_EPS = torch.finfo(torch.float64).eps
_ZERO = 1e-14  # weights below this are rounding
TILTS = (0.1, 0.3)  # for problems with many steps and many structures
_DEPENDENT = 1e-9  # squared distance of a column from the affine hull of others


class Answer(NamedTuple):
    """The best structure for some potentials, and its parts."""

    structure: Tensor  # (*event)
    column: Tensor  # (P,) 0/1, or numbers of magnitude at most about 1


@dataclass(frozen=True)
class Optimum:
    """The optimum over some structures: K of them, affinely independent."""

    structures: list[Tensor]  # K of (*event)
    parts: Tensor  # (K, P) rows of M^T
    gram: Tensor  # (K, K) M^T D M + 1 1^T
    weights: Tensor  # (K,)
    gap: float  # as computed; rounding can make it negative


class Start(NamedTuple):
    """The closed form of a solution: K structures, affinely independent."""

    structures: list[Tensor]  # K of (*event)
    parts: Tensor  # (K, P)
    weights: Tensor  # (K,)


@dataclass(frozen=True)
class StopRule:
    """When to stop: at a gap of `aim`, or of `promise` if rounding prevents a smaller one."""

    aim: float
    promise: float
    tilts: tuple[float, ...]  # sizes of the tilt relative to the gap; the last that works is used
    most: int  # structures
    steps: int  # QP solves


class ActiveSet:
    """The current structures of `run` and their weights.

    Between two optima one structure enters and others only leave, so the last `optimum` stays valid
    until the next one is reached.
    """

    optimum: Optimum

    def __init__(self, theta: Tensor, penalised: Tensor | None) -> None:
        """`theta`: (P,) float64. `penalised`: (P,) 0/1, the diagonal of D; None: ones."""
        self.theta, self.penalised = theta, penalised
        self.structures: list[Tensor] = []
        self.parts = theta.new_zeros(0, len(theta))
        self.gram = theta.new_zeros(0, 0)
        self.f = theta.new_zeros(0)  # the score of each structure minus the score of the first
        self.weights = theta.new_zeros(0)
        self.newest = False  # whether the last structure entered after the last optimum
        self.calls = 0
        self.capped = False  # stopped by a limit

    def run(self, limits: StopRule, start: Start | None = None) -> Generator[Tensor, Answer, None]:
        """Yields potentials (P,) for the oracle, and is sent its answers."""
        if start is not None:
            if (yield from self._closed(start, limits)):
                return
        else:
            first = yield from self._ask(self.theta)
            self.reference = first.column
            self._insert(first, 1.0)
        random = torch.Generator().manual_seed(0)
        for _ in range(limits.steps):
            noise = torch.rand(self.theta.shape, dtype=torch.float64, generator=random)
            factor = torch.linalg.cholesky(self.gram)
            goal = equality_qp(self.gram, factor, self.f)
            low = goal < _ZERO
            if low.any():
                # Rounding: otherwise an entering structure has positive weight.
                if self.newest and low[-1]:
                    return
                self._walk(goal, low)
            else:
                if len(goal) > limits.most:
                    break
                if not (yield from self._price(goal, factor, limits, noise)):
                    return
        self.capped = True

    def _closed(self, start: Start, limits: StopRule) -> Generator[Tensor, Answer, bool]:
        """Insert the structures of a closed form. True if its weights are certified."""
        self.structures, self.parts, self.weights = start
        self.reference = self.parts[0]
        self.gram = self._keep(self.parts) @ self.parts.T + 1
        self.f = ((self.parts - self.reference) * self.theta).sum(-1)
        residual = self.theta - self._keep(self.weights @ self.parts)
        gap = (yield from self._gap(residual, self.weights))[1]
        self.optimum = Optimum(self.structures, self.parts, self.gram, self.weights, gap)
        return gap <= limits.promise

    def _gap(
        self, residual: Tensor, weights: Tensor
    ) -> Generator[Tensor, Answer, tuple[Answer, float]]:
        """The best structure for the residual, and its advantage over the active ones."""
        best = yield from self._ask(residual)
        return best, float((residual * (best.column - weights @ self.parts)).sum())

    def ended(self, allowed: Tensor, binary: bool) -> Ended:
        """The final state, over the allowed parts.

        If a single structure of 0/1 parts is the best for `theta - D u`, it is so for `theta` too.
        With numbers it need not be, and the first answer of the oracle takes its place.
        """
        parts = self.optimum.parts
        alone = len(parts) == 1 and not binary
        return Ended(self.theta, allowed, self.reference[None] if alone else parts)

    def _ask(self, potentials: Tensor) -> Generator[Tensor, Answer, Answer]:
        self.calls += 1
        answer = yield potentials
        if self.structures:
            check_best(potentials, answer.column, self.parts)
        return answer

    def _walk(self, goal: Tensor, low: Tensor) -> None:
        """Move towards `goal` until the first weight reaches zero, and drop that structure."""
        step = torch.where(low, self.weights / (self.weights - goal).clamp(min=_ZERO), torch.inf)
        length, leaving = step.min(0)
        self.weights = (self.weights + length.clamp(max=1) * (goal - self.weights)).clamp(min=0)
        self._drop(int(leaving))

    def _price(
        self, goal: Tensor, factor: Tensor, limits: StopRule, noise: Tensor
    ) -> Generator[Tensor, Answer, bool]:
        """Record the optimum `goal` and its gap; if the gap is too large, add a structure."""
        u = goal @ self.parts
        residual = self.theta - self._keep(u)
        best, gap = yield from self._gap(residual, goal)
        rounding = 8 * _EPS * float(1 + (residual * best.column).abs().sum())
        self.weights = goal
        self.optimum = Optimum(self.structures, self.parts, self.gram, goal, gap)
        if gap <= max(limits.aim, min(rounding, limits.promise)):
            return False
        # At an optimum over S, all points in the affine hull of S score the same. So a structure in
        # this hull, such as one of S, has no advantage except rounding, unless some parts carry no
        # penalty.
        enters, direction = self._outside(best.column, factor)
        if not enters and self.penalised is not None and gap > rounding:
            self._pivot(best, direction)
            return True
        for tilt in limits.tilts:
            other = yield from self._ask(residual + tilt * gap * noise)
            advantage = float((residual * (other.column - u)).sum())
            if advantage > max(limits.aim, gap / 10) and self._outside(other.column, factor)[0]:
                best, enters = other, True
        if enters:
            self._insert(best, 0.0)
        return enters

    def _keep(self, parts: Tensor) -> Tensor:
        """`D parts`: (..., P) with zeros at parts without penalty."""
        return parts if self.penalised is None else parts * self.penalised

    def _outside(self, column: Tensor, factor: Tensor) -> tuple[bool, Tensor]:
        """Whether the penalised parts of a column are outside the affine hull of the others.

        Also returns the combination (K,) of the others that is nearest to it.
        """
        parts, column = self._keep(self.parts), self._keep(column)
        d = torch.cholesky_solve((parts @ column + 1)[:, None], factor)[:, 0]
        rest = column - d @ parts
        return bool(rest.square().sum() + (1 - d.sum()).square() > _DEPENDENT), d

    def _pivot(self, answer: Answer, d: Tensor) -> None:
        """Add a structure that equals the combination `d` of the others, and drop one of them.

        The weights move along (-d, 1), which leaves `D u` unchanged, until one reaches zero.
        """
        length, leaving = torch.where(d > _DEPENDENT, self.weights / d, torch.inf).min(0)
        self.weights = (self.weights - length * d).clamp(min=0)
        self._insert(answer, float(length))
        self._drop(int(leaving))

    def _insert(self, answer: Answer, weight: float) -> None:
        structure, column = answer
        self.structures = [*self.structures, structure]
        self.parts = torch.cat([self.parts, column[None]])
        overlap = self.parts @ self._keep(column) + 1
        rows = torch.cat([self.gram, overlap[None, :-1]])
        self.gram = torch.cat([rows, overlap[:, None]], 1)
        # Only the parts in which the two differ, so that large shared scores cancel exactly.
        score = (self.theta * (column - self.reference)).sum()
        self.f = torch.cat([self.f, score[None]])
        self.weights = torch.cat([self.weights, self.weights.new_tensor([weight])])
        self.newest = True

    def _drop(self, k: int) -> None:
        stay = torch.arange(len(self.structures)) != k
        self.structures = [one for i, one in enumerate(self.structures) if i != k]
        self.parts, self.f, self.weights = self.parts[stay], self.f[stay], self.weights[stay]
        self.gram = self.gram[stay][:, stay]
        self.newest = False


def equality_qp(gram: Tensor, factor: Tensor, f: Tensor) -> Tensor:
    """`q = G^-1 (f + c 1)` with `sum q = 1`: (K,)."""
    slope, offset = line(gram, factor, f)
    return slope + offset


def line(gram: Tensor, factor: Tensor, f: Tensor) -> tuple[Tensor, Tensor]:
    """Slope and offset (K,) of the solution for `s f`, which is `s slope + offset`."""
    # Adding a constant to f changes nothing; subtracting one avoids cancellation.
    sides = torch.stack([f - f.max(), torch.ones_like(f)], -1)
    x = torch.cholesky_solve(sides, factor)
    x = x + torch.cholesky_solve(sides - gram @ x, factor)  # one step of refinement
    a, b = x.unbind(-1)
    return a - b * (a.sum() / b.sum()), b / b.sum()
