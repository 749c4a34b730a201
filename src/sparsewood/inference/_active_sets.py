"""The active sets of a batch of SparseMAP problems; `generic` describes the method."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

_EPS = torch.finfo(torch.float64).eps
_ZERO = 1e-14  # weights below this are rounding
_DEPENDENT = 1e-9  # squared distance of a column from the affine hull of others; they are 0/1
_ROOM = 8  # slots added when an active set is full

# (rows, potentials (R, P)) -> the best structure of each of these instances, and its parts (R, P)
Oracle = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


@dataclass
class ActiveSets:
    """The active sets of B instances in K slots each; what is in a free slot does not count.

    A structure that is dropped stays in its slot until another takes it. Between two QP optima one
    structure enters and others only leave, so `active` and `weights`, the last optimum, stay valid
    while the method walks from it with `trial_active` and `trial_weights`.
    """

    theta: Tensor  # (B, P)
    oracle: Oracle
    penalised: Tensor | None  # (P,) 0/1, the diagonal of D; None: ones
    reference: Tensor  # (B, P) the parts of the structure that the method started from
    structures: Tensor  # (B, K, *event)
    parts: Tensor  # (B, K, P) rows of M^T
    gram: Tensor  # (B, K, K) M^T M + 1 1^T
    f: Tensor  # (B, K) score of each structure, relative to that of the reference
    active: Tensor  # (B, K) bool
    weights: Tensor  # (B, K)
    trial_active: Tensor
    trial_weights: Tensor
    newest: Tensor  # (B,) the slot of the structure that entered since the last optimum, or -1
    gap: Tensor  # (B,) at the last optimum
    target: Tensor  # (B,) the gap that was asked for there

    @classmethod
    def start(cls, theta: Tensor, oracle: Oracle, penalised: Tensor | None) -> "ActiveSets":
        """Each instance with its MAP structure alone."""
        batch = len(theta)
        structures, parts = oracle(torch.arange(batch, device=theta.device), theta)
        mask = None if penalised is None else penalised.flatten().to(theta)
        active = torch.ones(batch, 1, dtype=torch.bool, device=theta.device)
        return cls(
            theta=theta,
            oracle=oracle,
            penalised=mask,
            reference=parts,
            structures=structures[:, None],
            parts=parts[:, None],
            gram=(parts if mask is None else parts * mask).sum(-1)[:, None, None] + 1,
            f=theta.new_zeros(batch, 1),
            active=active,
            weights=active.double(),
            trial_active=active.clone(),
            trial_weights=active.double(),
            newest=torch.full((batch,), -1, device=theta.device),
            gap=theta.new_full((batch,), torch.inf),
            target=theta.new_zeros(batch),
        )

    def run(self, tol: Tensor, tilts: tuple[float, ...], cap: int, limit: int) -> None:
        """Take up to `limit` steps with sets of up to `cap`, until each gap is at most `tol`."""
        running = torch.arange(len(self.theta), device=self.theta.device)
        random = torch.Generator().manual_seed(0)
        for _ in range(limit):
            if len(running) == 0:
                break
            noise = torch.rand(self.theta.shape[1], dtype=torch.float64, generator=random)
            slopes = [size * noise.to(self.theta.device) for size in tilts]
            running = self._step(running, tol, slopes, cap)

    def _step(self, rows: Tensor, tol: Tensor, slopes: list[Tensor], cap: int) -> Tensor:
        """One QP solve for each of `rows`; returns those that need another."""
        active = self.trial_active[rows]
        system = system_of(self.gram[rows], active)
        factor = torch.linalg.cholesky(system)
        goal = _equality_qp(system, factor, active, self.f[rows])
        low = active & (goal < _ZERO)
        newest = self.newest[rows]
        # Rounding: the weight of an entering structure is its advantage over a positive number.
        stuck = (newest >= 0) & low.gather(1, newest.clamp(min=0)[:, None]).squeeze(1)
        walks = low.any(-1) & ~stuck
        optimal = ~low.any(-1) & (active.sum(-1) <= cap)

        self._walk(rows[walks], goal[walks], low[walks])
        open_rows = self._price(rows[optimal], goal[optimal], factor[optimal], tol, slopes)
        return torch.cat([rows[walks], open_rows]).sort().values

    def _walk(self, rows: Tensor, goal: Tensor, low: Tensor) -> None:
        """Go towards `goal` until the first weight reaches zero, and drop that structure."""
        if len(rows) == 0:
            return
        weights = self.trial_weights[rows]
        step = torch.where(low, weights / (weights - goal).clamp(min=_ZERO), torch.inf)
        length, slot = step.min(-1)
        weights = weights + length.clamp(max=1)[:, None] * (goal - weights)
        self.trial_weights[rows] = weights.clamp(min=0).scatter(1, slot[:, None], 0.0)
        self.trial_active[rows, slot] = False
        self.newest[rows] = -1

    def _price(
        self, rows: Tensor, goal: Tensor, factor: Tensor, tol: Tensor, slopes: list[Tensor]
    ) -> Tensor:
        """Record the optimum `goal` and its gap; where that is too large, let a structure in.

        Returns the rows where one entered.
        """
        if len(rows) == 0:
            return rows
        u = (goal[:, None] @ self.parts[rows]).squeeze(1)
        residual = self.theta[rows] - self._keep(u)
        best, column = self.oracle(rows, residual)
        gap = (residual * (column - u)).sum(-1).clamp(min=0)
        rounding = 8 * _EPS * (1 + (residual.abs() * column).sum(-1))
        self.active[rows], self.weights[rows] = self.trial_active[rows], goal
        self.trial_weights[rows] = goal
        self.gap[rows], self.target[rows] = gap, torch.maximum(tol[rows], rounding)

        short = gap > self.target[rows]
        rows, u, residual, factor = rows[short], u[short], residual[short], factor[short]
        best, column, gap = best[short], column[short], gap[short]
        # At an optimum over S everything in the affine hull of S scores alike, so a structure in
        # there (one of S, say) has no advantage but rounding, unless parts go without a penalty.
        enters, direction = self._outside(rows, column, factor)
        pivots = ~enters if self.penalised is not None else torch.zeros_like(enters)
        for slope in slopes if len(rows) else ():
            other, other_column = self.oracle(rows, residual + gap[:, None] * slope)
            advantage = (residual * (other_column - u)).sum(-1)
            good = advantage > torch.maximum(self.target[rows], gap / 10)
            good &= self._outside(rows, other_column, factor)[0] & ~pivots
            best[good], column[good] = other[good], other_column[good]
            enters |= good
        self._pivot(rows[pivots], best[pivots], column[pivots], direction[pivots])
        self._insert(rows[enters], best[enters], column[enters])
        return rows[enters | pivots]

    def _keep(self, parts: Tensor) -> Tensor:
        """`D parts`: (..., P) with zeros where there is no penalty."""
        return parts if self.penalised is None else parts * self.penalised

    def _outside(self, rows: Tensor, column: Tensor, factor: Tensor) -> tuple[Tensor, Tensor]:
        """Whether each (R, P) column lies outside the affine hull of the active ones: (R,).

        Also the combination (R, K) of active ones that is nearest to it. Penalised parts alone.
        """
        parts, column = self._keep(self.parts[rows]), self._keep(column)
        overlap = ((parts @ column[:, :, None]).squeeze(-1) + 1) * self.trial_active[rows]
        d = torch.cholesky_solve(overlap[:, :, None], factor).squeeze(-1)
        rest = column - (d[:, None] @ parts).squeeze(1)
        return rest.square().sum(-1) + (1 - d.sum(-1)).square() > _DEPENDENT, d

    def _pivot(self, rows: Tensor, structures: Tensor, column: Tensor, d: Tensor) -> None:
        """Put a structure that equals the combination `d` of the active ones in the place of one.

        The weights move along (-d, 1), which leaves `D u` as it is, until one reaches zero.
        """
        if len(rows) == 0:
            return
        weights = self.trial_weights[rows]
        active = self.trial_active[rows] & (d > _DEPENDENT)
        length, leaving = torch.where(active, weights / d, torch.inf).min(-1)
        weights = (weights - length[:, None] * d) * self.trial_active[rows]
        self.trial_weights[rows] = weights.clamp(min=0)
        self._insert(rows, structures, column)
        self.trial_weights[rows, self.newest[rows]] = length
        self.trial_weights[rows, leaving] = 0.0
        self.trial_active[rows, leaving] = False
        self.newest[rows] = -1

    def _insert(self, rows: Tensor, structures: Tensor, column: Tensor) -> None:
        """Put one structure into a free slot of each of `rows`, with weight zero."""
        if len(rows) == 0:
            return
        if self.trial_active[rows].all(-1).any():
            self._grow()
        slot = self.trial_active[rows].int().argmin(-1)
        self.structures[rows, slot] = structures
        self.parts[rows, slot] = column
        overlap = (self.parts[rows] @ self._keep(column)[:, :, None]).squeeze(-1) + 1
        self.gram[rows, slot] = overlap
        self.gram[rows, :, slot] = overlap
        # Only the parts in which the two differ: a large score they share cancels exactly.
        self.f[rows, slot] = (self.theta[rows] * (column - self.reference[rows])).sum(-1)
        self.trial_active[rows, slot] = True
        self.trial_weights[rows, slot] = 0.0
        self.newest[rows] = slot

    def _grow(self) -> None:
        """Add free slots to every instance."""
        batch = len(self.theta)
        room = self.structures.new_zeros(batch, _ROOM, *self.structures.shape[2:])
        self.structures = torch.cat([self.structures, room], 1)
        self.parts = pad(self.parts, (0, 0, 0, _ROOM))
        self.gram = pad(self.gram, (0, _ROOM, 0, _ROOM))
        for name in ("f", "active", "weights", "trial_active", "trial_weights"):
            setattr(self, name, pad(getattr(self, name), (0, _ROOM)))


def system_of(gram: Tensor, active: Tensor) -> Tensor:
    """`G` over the active slots, the identity over the free ones: (B, K, K), positive definite."""
    eye = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    return torch.where(active[:, :, None] & active[:, None], gram, eye)


def _equality_qp(system: Tensor, factor: Tensor, active: Tensor, f: Tensor) -> Tensor:
    """`q = G^-1 (f + c 1)` with `sum q = 1`: (B, K), zero in the free slots."""
    ones = active.double()
    top = torch.where(active, f, -torch.inf).amax(-1, keepdim=True)
    # A constant added to f changes c and not q: without it nothing large has to cancel.
    sides = torch.stack([(f - top) * ones, ones], -1)
    x = torch.cholesky_solve(sides, factor)
    x = x + torch.cholesky_solve(sides - system @ x, factor)  # one step of refinement
    a, b = x.unbind(-1)
    return a + b * ((1 - a.sum(-1)) / b.sum(-1))[:, None]
