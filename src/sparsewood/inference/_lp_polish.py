r"""From a rough LP-SparseMAP solution to the exact one, its certificate and its Jacobian.

The solution `mu` of

    max <theta, mu> - 1/2 ||W mu||^2    subject to    mu_f in polytope P_f for each factor f

lies in one face of each polytope (the smallest that contains `mu_f`), and stays in it for scores
near `theta`. Given the faces, the solution is a projection onto the intersection of their affine
hulls: one linear system. With `J_f` the orthogonal projector onto the directions of the face of f
and `E_f` the copies of the variables in f, the directions of the intersection are the null space of

    S = sum_f E_f^T (I - J_f) E_f.

With `Z` a basis of it, `d mu = Z (Z^T W Z)^-1 Z^T d theta`.

A certificate decides whether the faces were correct. If `sum_f E_f^T g_f = theta - W mu` then

    gap = sum_f  max_{m in P_f} <g_f, m> - <g_f, mu_f>

is an upper bound on the suboptimality of a feasible `mu`, and on `1/2 ||W (mu - mu*)||^2`. And `mu`
is feasible if SparseMAP for the scores `g_f + W mu_f` returns `mu_f`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from sparsewood.inference._lp_problem import Group, LPProblem
from sparsewood.sparse_posterior import SparsePosterior
from sparsewood.structures.logic import LogicFactor

_NULL = 1e-9  # eigenvalues of S below this are zero
_FIXED = 1e-11  # a diagonal entry of J_f below this: the face does not move along that coordinate


@dataclass(frozen=True)
class Support:
    """The structures of N posteriors, K slots each; unused slots are zero."""

    parts: Tensor  # (N, K, P)
    active: Tensor  # (N, K) bool

    @classmethod
    def of(cls, post: SparsePosterior) -> "Support":
        flat, instance = post.parts.flatten(1), post.instance
        rank = torch.arange(len(flat), device=flat.device)
        rank = rank - (post.sizes.cumsum(0) - post.sizes)[instance]
        room = max(post.sizes.tolist(), default=1)
        parts = flat.new_zeros(len(post.sizes), room, flat.shape[1])
        parts[instance, rank] = flat
        active = torch.arange(room, device=flat.device) < post.sizes[:, None]
        return cls(parts, active)

    def face(self) -> Tensor:
        """The orthogonal projector onto the directions between the structures: (N, P, P)."""
        directions = (self.parts - self.parts[:, :1]) * self.active[:, :, None]
        gram = directions @ directions.mT
        empty = (gram.diagonal(dim1=1, dim2=2) == 0).double()
        factor = torch.linalg.cholesky(gram + torch.diag_embed(empty))
        half = torch.linalg.solve_triangular(factor, directions, upper=False)
        return half.mT @ half

    def weights(self, marginals: Tensor) -> Tensor:
        """The affine weights of the point nearest to each (N, P): (N, K), linear in it."""
        ones = self.active.double()
        gram = self.parts @ self.parts.mT + ones[:, :, None] * ones[:, None]
        factor = torch.linalg.cholesky(gram + torch.diag_embed(1 - ones))
        side = self.parts @ marginals[:, :, None] + ones[:, :, None]
        return torch.cholesky_solve(side, factor).squeeze(-1)


@dataclass(frozen=True)
class Faces:
    """The faces of all factors around their local solutions, and their intersection."""

    problem: LPProblem
    local: Tensor  # (B, N) the local solutions
    normals: list[Tensor]  # I - J_f of each group: (B, F, P, P)
    fixed: Tensor  # (B, N) bool: coordinates that are constant on the face of their factor
    free: Tensor  # (B, V + 1) bool: variables that are fixed in none of their factors
    place: Tensor  # (B, V + 1): index of each variable among the R free ones; R if not free
    values: Tensor  # (B, R) eigenvalues of S over the free variables
    vectors: Tensor  # (B, R, R)

    @classmethod
    def at(cls, problem: LPProblem, scores: Tensor) -> "Faces":
        """The faces around the local solutions for (B, N) scores of the slots."""
        closed = problem.closed(scores)
        batch = len(scores)
        local, fixed = torch.zeros_like(scores), torch.zeros_like(scores, dtype=torch.bool)
        normals = []
        for group in problem.groups:
            x, face = _face(group, closed, problem.rows)
            local[:, group.slots] = x.reshape(batch, -1)
            fixed[:, group.slots] = (face.diagonal(dim1=1, dim2=2) < _FIXED).reshape(batch, -1)
            eye = torch.eye(face.shape[-1], dtype=face.dtype, device=face.device)
            normals.append((eye - face).unflatten(0, (batch, len(group.numbers))))
        inside = (problem.theta > 0) & (problem.theta < 1)  # for variables in no factor
        moves = torch.where(problem.degree > 0, problem.total(fixed.double()) == 0, inside)
        free = moves & ~problem.off
        count = free.sum(-1)
        room = int(count.max())
        place = torch.where(free, free.long().cumsum(-1) - 1, room)
        matrix = _gather_normals(problem, normals, place, room)
        padding = torch.arange(room, device=scores.device) >= count[:, None]
        values, vectors = torch.linalg.eigh(matrix + torch.diag_embed(padding.double()))
        return cls(problem, local, normals, fixed, free, place, values, vectors)

    def jacobian(self, theta: Tensor) -> Tensor:
        """`Z (Z^T W Z)^-1 Z^T theta`: (B, V + 1) -> (B, V + 1), symmetric and constant."""
        basis = self.vectors * (self.values < _NULL)[:, None]
        x = (basis.mT @ self._compress(theta)[:, :, None]).squeeze(-1)
        if not bool(self.problem.penalty.all()):
            penalty = self._compress(self.problem.penalty.expand(self.free.shape))
            gram = basis.mT @ (penalty[:, :, None] * basis)
            x = (torch.linalg.pinv(gram, rtol=1e-10, hermitian=True) @ x[:, :, None]).squeeze(-1)
        return self._expand((basis @ x[:, :, None]).squeeze(-1))

    def polish(self, dual: Tensor) -> tuple[Tensor, Tensor]:
        """The optimum on the intersection of the faces, (B, V + 1), and its `g_f`, (B, N).

        `g_f` is the solution nearest to the approximate values `dual` (B, N).
        """
        problem = self.problem
        weight = self.fixed.double()
        pinned = problem.total(weight * self.local) / problem.total(weight).clamp(min=1)
        start = torch.where(self.free, problem.mean(self.local), pinned)
        start = torch.where(problem.degree > 0, start, problem.mean(self.local))
        short = problem.total(self._normal(self.local - problem.copies(start)))
        mu = start + self._least_squares(short)
        mu = mu + self.jacobian(problem.theta - problem.penalty * mu)

        slope = (problem.theta - problem.penalty * mu).masked_fill(problem.off, 0)
        dual = self._normal(dual.masked_fill(problem.copies(problem.off), 0))
        dual = dual + self._normal(problem.copies(self._least_squares(slope - problem.total(dual))))
        rest = (slope - problem.total(dual)) / problem.total(weight).clamp(min=1)
        return mu, dual + weight * problem.copies(rest)

    def _normal(self, slots: Tensor) -> Tensor:
        """`I - J_f` of each factor applied to its slots: (B, N) -> (B, N)."""
        answer = torch.zeros_like(slots)
        for group, normal in zip(self.problem.groups, self.normals, strict=True):
            table = slots[:, group.slots].reshape(*normal.shape[:3], 1)
            answer[:, group.slots] = (normal @ table).reshape(len(slots), -1)
        return answer

    def _least_squares(self, side: Tensor) -> Tensor:
        """`S^+ side` over the free variables: (B, V + 1) -> (B, V + 1)."""
        inverse = torch.where(self.values < _NULL, 0, 1 / self.values.clamp(min=_NULL))
        x = (self.vectors.mT @ self._compress(side)[:, :, None]).squeeze(-1) * inverse
        return self._expand((self.vectors @ x[:, :, None]).squeeze(-1))

    def _compress(self, variables: Tensor) -> Tensor:
        """(B, V + 1) -> (B, R)."""
        room = self.values.shape[1]
        inside = torch.where(self.free, variables, 0)
        table = inside.new_zeros(len(inside), room + 1).scatter_add(1, self.place, inside)
        return table[:, :room]

    def _expand(self, table: Tensor) -> Tensor:
        """(B, R) -> (B, V + 1), zero where a variable is not free."""
        return torch.nn.functional.pad(table, (0, 1)).gather(1, self.place)


def _face(group: Group, scores: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The local solutions (B * F, P) and their faces (B * F, P, P) of a group."""
    if isinstance(group.structure, LogicFactor):
        x = group.structure.project(group.flat(scores))
        return x, group.structure.face(x)
    post = group.posterior(scores, rows)
    return post.marginals.flatten(1), Support.of(post).face()


def _gather_normals(problem: LPProblem, normals: list[Tensor], place: Tensor, room: int) -> Tensor:
    """`S` over the free variables: (B, R, R)."""
    batch = len(place)
    matrix = place.new_zeros(batch, (room + 1) ** 2, dtype=torch.float64)
    slot_place = problem.copies(place)
    for group, normal in zip(problem.groups, normals, strict=True):
        index = slot_place[:, group.slots].reshape(*normal.shape[:3])
        cell = index[..., :, None] * (room + 1) + index[..., None, :]
        matrix.scatter_add_(1, cell.flatten(1), normal.flatten(1))
    return matrix.reshape(batch, room + 1, room + 1)[:, :room, :room]
