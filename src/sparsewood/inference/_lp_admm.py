r"""ADMM for LP-SparseMAP: each factor solves its own problem, and the copies are driven to agree.

Every slot holds a copy `x` of its variable. The score and the penalty of a variable with `d` slots
are divided evenly among them. The augmented Lagrangian of the constraint `x = z` (Boyd et al. 2011,
section 7.1; Martins et al. 2015, "AD3") then gives each factor the problem

    max_{x in P_f}  <theta / d - dual + rho z, x> - 1/2 (1/d + rho) ||x||^2.

The consensus weight is `rho = c - 1/d` with one `c >= 1` per instance. The penalty is then the same
for all variables of a factor, so this is plain SparseMAP for the scores in brackets, divided by
`c`. At `c = 1` a variable in a single factor has `rho = 0`, as there is nothing to agree on.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sparsewood.inference._lp_polish import Faces
from sparsewood.inference._lp_problem import LPProblem

_RELAX = 1.6  # over-relaxation (Boyd et al. 2011, section 3.4.3)
_TRY = 10  # rounds between attempts to compute the exact solution
_FIRST = 1.5  # initial `c`, relative to the mean score
_BALANCE = 2.0  # residuals that differ by this factor change `c`, which is doubled or halved
_ADAPT = 500  # `c` is fixed after so many rounds, as ADMM converges for fixed `c`
_SETTLED = 1e-3  # stop without a certificate at residuals of `_SETTLED * tol`
_FEASIBLE = 1e-9  # copies that differ by less agree
_ROUNDING = 64 * torch.finfo(torch.float64).eps


@dataclass
class State:
    """The iterate of B instances, and the best answer so far."""

    z: Tensor  # (B, V + 1) consensus values
    dual: Tensor  # (B, N), sums to zero over the slots of a variable
    c: Tensor  # (B,)
    scores: Tensor  # (B, N) of the slots in the last round; they determine the local solutions
    marginals: Tensor  # (B, V + 1) the answer
    violation: Tensor  # (B,) distance of the answer from satisfying the factors
    gap: Tensor  # (B,) upper bound on the suboptimality of the answer
    rounds: Tensor  # (B,) int64

    @classmethod
    def begin(cls, problem: LPProblem) -> "State":
        batch, slots = len(problem.theta), len(problem.variable)
        z = problem.theta.clamp(0, 1)
        one = z.new_ones(batch)
        # The duals reach the size of the scores; without shared variables they stay 0.
        shared = bool((problem.degree[:-1] > 1).any())
        c = (_FIRST * problem.theta.abs().mean(-1)).clamp(min=1) if shared else one
        return cls(
            z=z,
            dual=z.new_zeros(batch, slots),
            c=c,
            scores=z.new_zeros(batch, slots),
            marginals=z.clone(),
            violation=torch.inf * one,
            gap=torch.inf * one,
            rounds=torch.zeros_like(one, dtype=torch.int64),
        )

    def copy(self) -> "State":
        """A state to continue from: the same iterate, no answer yet."""
        far = torch.full_like(self.gap, torch.inf)
        return replace(
            self,
            z=self.z.clone(),
            dual=self.dual.clone(),
            c=self.c.clone(),
            scores=self.scores.clone(),
            marginals=self.marginals.clone(),
            violation=far,
            gap=far.clone(),
            rounds=torch.zeros_like(self.rounds),
        )

    def run(self, problem: LPProblem, tol: float, max_iter: int) -> None:
        """Up to `max_iter` rounds, until marginals are within `tol` of the solution."""
        rows = torch.arange(len(self.z), device=self.z.device)
        for count in range(1, max_iter + 1):
            if len(rows) == 0:
                return
            part = problem.take(rows)
            x, primal, change = self._round(part, rows)
            self.rounds[rows] = count
            settled = torch.maximum(primal, change) <= tol * _SETTLED
            look = settled | (count % _TRY == 0) | (count == max_iter)
            if not look.any():
                continue
            some = rows[look]
            sure = self._answer(problem.take(some), some, x[look], primal[look], tol)
            going = torch.ones_like(settled)
            going[look] = ~(sure | settled[look])
            if count % _TRY == 0 and count <= _ADAPT:
                self._balance(rows, primal, change)
            rows = rows[going]

    def _round(self, problem: LPProblem, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One round: local solutions (R, N), their disagreement (R,), the change of `z` (R,)."""
        z, dual, c = self.z[rows], self.dual[rows], self.c[rows, None]
        degree, penalty = problem.copies(problem.degree), problem.copies(problem.penalty)
        rho = penalty * (c - 1 / degree)
        scores = (problem.copies(problem.theta) / degree - dual + rho * problem.copies(z)) / c
        x = problem.solve(scores)
        mean = problem.mean(x)
        relaxed = _RELAX * x + (1 - _RELAX) * problem.copies(z)
        new = problem.mean(relaxed)
        self.z[rows], self.scores[rows] = new, scores
        self.dual[rows] = dual + rho * (relaxed - problem.copies(new))
        primal = _largest(x - problem.copies(mean))
        return x, primal, _largest(rho * problem.copies(new - z))

    def _answer(
        self, problem: LPProblem, rows: Tensor, x: Tensor, primal: Tensor, tol: float
    ) -> Tensor:
        """Record the mean of the copies, or the exact solution nearby, with its certificate.

        Returns which instances are certified to be within `tol` of the solution: (R,).
        """
        normal = self.c[rows, None] * (self.scores[rows] - problem.copies(problem.penalty) * x)
        mean = problem.mean(x)
        slope = (problem.theta - problem.penalty * mean).masked_fill(problem.off, 0)
        short = (slope - problem.total(normal)) / problem.degree.clamp(min=1)
        gap = problem.advantage(normal + problem.copies(short), problem.copies(mean))
        target = tol**2 / 2 + _ROUNDING * (1 + problem.theta.abs().sum(-1))
        self.marginals[rows], self.violation[rows], self.gap[rows] = mean, primal, gap
        sure = (primal <= _ROUNDING) & (gap <= target)
        if sure.all():
            return sure
        mu, normal = Faces.at(problem, self.scores[rows]).polish(normal)
        copies = problem.copies(mu)
        scores = normal + problem.copies(problem.penalty) * copies
        violation = _largest(problem.solve(scores) - copies)
        gap = problem.advantage(normal, copies)
        exact = ~sure & (violation <= _FEASIBLE) & (gap <= target)
        better = exact | (~sure & (violation < primal))
        share = (problem.theta - problem.penalty * mu) / problem.degree.clamp(min=1)
        self.z[rows[better]] = mu[better]
        self.dual[rows[better]] = (problem.copies(share) - normal)[better]
        self.scores[rows[exact]] = scores[exact]
        self.marginals[rows[exact]] = mu[exact].clamp(0, 1)
        self.violation[rows[exact]] = violation[exact]
        self.gap[rows[exact]] = gap[exact]
        return sure | exact

    def _balance(self, rows: Tensor, primal: Tensor, change: Tensor) -> None:
        """Raise `c` where the copies disagree, lower it where `z` changes slowly."""
        c = self.c[rows]
        c = torch.where(primal > _BALANCE * change, 2 * c, c)
        c = torch.where(change > _BALANCE * primal, (c / 2).clamp(min=1), c)
        self.c[rows] = c


def _largest(slots: Tensor) -> Tensor:
    """(R, N) -> (R,), 0 where there are no slots."""
    return slots.abs().amax(-1) if slots.shape[1] else slots.new_zeros(len(slots))
