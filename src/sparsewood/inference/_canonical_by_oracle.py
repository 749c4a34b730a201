r"""Canonical weights, computed with only the MAP oracle, for the generic solver.

Several distributions `q` over structures can have the optimal marginals `u* = M q`. The canonical
distribution comes from the pulling triangulation of the polytope. Let `w` hold a fixed integer per
part. Then the canonical distribution

    gives the most weight to h1, the structure maximising w on the face of the polytope with u*;
    among those, the most to h2, the structure maximising w on the face of the rest; and so on.

It is unique, its structures are affinely independent, and it is continuous in `u*`, hence in the
scores, and linear between kinks (De Loera, Rambau & Santos 2010, "Triangulations", section 4.3.2).

Each step is a linear program over the structures of a face F, solved by the simplex method without
listing them. The remaining weight lies on a basis S of affinely independent structures of F. In
their span there is one affine function of the parts that is 1 on h1 and 0 on the rest of S,

    phi(h) = <M_S z, m(h)> + 1^T z,      z = K^-1 e_h1,     K = M_S^T D M_S + 1 1^T

and `-phi(h)` is the weight that h1 gains per unit of weight given to h. The oracle finds the
structure of F with minimal phi. If this is negative, the structure enters S and another leaves;
otherwise phi proves that the weight of h1 is maximal, and `F and phi = 0` is the face of the rest.

A face is represented by the functions that vanish on it: first the score of a structure below the
best on `theta - D u*`, then each phi, nonnegative where the previous functions vanish. They are
penalties in the calls of the oracle. If it returns a structure outside the face, the penalty of the
first function that is not 0 there is raised; a structure on the face is optimal there whatever the
penalties. Parts that no remaining structure can use are forbidden.
"""

from collections.abc import Generator

import torch
from torch import Tensor

from sparsewood.inference._active_set import Answer, Optimum, equality_qp

_EPS = torch.finfo(torch.float64).eps
_ZERO = 1e-12  # weights below this are rounding
_FLAT = 1e-9  # the same for functions: on 0/1 columns and ranks they are 0 or far from 0
_LIKED = 2.0**-30  # scales the integers of parts to the magnitude of phi


class _StuckError(Exception):
    """The simplex method did not terminate."""


class _Face:
    """A face of the polytope: where J functions `value - <slope, m(h)>` of a structure are 0."""

    def __init__(self, parts: int) -> None:
        """The whole polytope."""
        self.slopes = torch.zeros(0, parts, dtype=torch.float64)
        self.values = self.slopes.new_zeros(0)
        self.flat = self.slopes.new_zeros(0)  # values up to this are rounding
        self.prices = self.slopes.new_zeros(0)

    def cut(self, slope: Tensor, value: Tensor, flat: float) -> None:
        """Intersect with the zeros of another function, which is nonnegative on the face."""
        self.slopes = torch.cat([self.slopes, slope[None]])
        self.values = torch.cat([self.values, value[None]])
        self.flat = torch.cat([self.flat, value.new_tensor([flat])])
        self.prices = torch.cat([self.prices, value.new_zeros(1)])

    def of(self, column: Tensor) -> Tensor:
        """The functions of a structure: (J,)."""
        return self.values - self.slopes @ column


class CanonicalByOracle:
    """The canonical distribution with the marginals of an optimum, for one instance."""

    def __init__(
        self,
        optimum: Optimum,
        theta: Tensor,
        penalised: Tensor | None,
        w: Tensor,
        binary: bool = True,
    ) -> None:
        """`theta`, `w`: (P,). `penalised`: (P,) 0/1, the diagonal of D; None: ones.

        `binary`: whether columns are 0/1, so that a part that none uses is a face of its own.
        """
        self.structures, self.parts = list(optimum.structures), optimum.parts
        self.weights = optimum.weights
        self.theta, self.likes, self.binary = theta, w * _LIKED, binary
        self.penalised = torch.ones_like(theta) if penalised is None else penalised
        u = self.weights @ self.parts
        slope = theta - self.penalised * u
        spread = float(slope.max() - slope.min()) if len(slope) else 0.0
        rounding = 2 * abs(optimum.gap) + 16 * _EPS * float(1 + theta.abs().sum())
        self.face = _Face(len(theta))
        self.face.cut(slope, slope @ u, _FLAT * spread + rounding)
        self.calls = 0
        self.most = 100 + 20 * len(theta)  # calls: ties must terminate

    def run(self) -> Generator[Tensor, Answer, Optimum | None]:
        """Yields potentials (P,) for the oracle, and is sent its answers. None: no success."""
        try:
            return (yield from self._solve(*(yield from self._choose())))
        except _StuckError:
            return None

    def _choose(self) -> Generator[Tensor, Answer, tuple[list[Tensor], Tensor]]:
        """The structures in the canonical support, and their parts (K, P)."""
        structures, parts = [], []
        self._forget()
        while self.structures:
            if len(self.structures) > 1:  # the last structure takes all remaining weight
                yield from self._most((yield from self._best(self.likes)))
            if self.weights[-1] > _ZERO:
                structures.append(self.structures[-1])
                parts.append(self.parts[-1])
            self._drop(len(self.structures) - 1)
            self._forget()
        return structures, torch.stack(parts)

    def _solve(self, structures: list[Tensor], parts: Tensor) -> Generator[Tensor, Answer, Optimum]:
        """The optimum over some structures, free of the accumulated rounding of steps."""
        gram = (parts * self.penalised) @ parts.T + 1
        f = ((parts - parts[0]) * self.theta).sum(-1)
        goal = equality_qp(gram, _factor(gram), f)
        if not (goal >= -_ZERO).all():
            raise _StuckError
        stays = goal > _ZERO
        if not stays.all():  # some structures entered by accumulated rounding
            left = [one for one, stay in zip(structures, stays, strict=True) if stay]
            return (yield from self._solve(left, parts[stays]))
        u = goal @ parts
        slope = self.theta - self.penalised * u
        best = yield from self._ask(slope)
        return Optimum(structures, parts, gram, goal, float((slope * (best.column - u)).sum()))

    def _ask(self, potentials: Tensor) -> Generator[Tensor, Answer, Answer]:
        self.calls += 1
        return (yield potentials)

    def _forget(self) -> None:
        """Drop structures without weight, and parts that no remaining structure uses."""
        for k in reversed((self.weights <= _ZERO).nonzero()[:, 0].tolist()):
            self._drop(k)
        self.gone = (self.parts.sum(0) == 0) & (self.penalised > 0) & self.binary

    def _best(self, potentials: Tensor) -> Generator[Tensor, Answer, Answer]:
        """The highest scoring structure of the face."""
        here = float((self.parts @ potentials).max())  # all of the basis is on the face
        while self.calls < self.most:
            asked = potentials + self.face.prices @ self.face.slopes
            answer = yield from self._ask(asked.masked_fill(self.gone, -torch.inf))
            values = self.face.of(answer.column)
            off = (values > self.face.flat).nonzero()[:, 0]
            if len(off) == 0:
                return answer
            lead = float(potentials @ answer.column - self.face.prices @ values) - here
            self.face.prices[off[0]] += max(1.0, 2 * lead) / values[off[0]]
        raise _StuckError

    def _most(self, liked: Answer) -> Generator[Tensor, Answer, None]:
        """Maximise the weight of a structure, the last of the basis, and cut the face."""
        self._enter(liked, last=True)
        while True:
            z = torch.cholesky_inverse(_factor(self._gram()))[-1]
            slope, value = -(z @ self._kept()), z.sum()
            low = yield from self._best(slope)
            if value - slope @ low.column >= -_FLAT:
                self.face.cut(slope, value, _FLAT)
                return
            self._enter(low, last=False)

    def _enter(self, answer: Answer, *, last: bool) -> None:
        """Add a structure to the basis, last or first, with the most weight it can have.

        In the span of the basis, it replaces a structure (possibly itself), whose weight moves to
        it. Outside the span, its weight is 0.
        """
        kept, column = self._kept(), answer.column * self.penalised
        d = torch.cholesky_solve((kept @ column + 1)[:, None], _factor(self._gram()))[:, 0]
        weight = 0.0
        if (column - d @ kept).square().sum() + (1 - d.sum()).square() < _FLAT:
            step, leaving = torch.where(d > _FLAT, self.weights / d, torch.inf).min(0)
            self.weights = (self.weights - step * d).clamp(min=0)
            self._drop(int(leaving))
            weight = float(step)
        at = len(self.structures) if last else 0
        self.structures.insert(at, answer.structure)
        self.parts = torch.cat([self.parts[:at], answer.column[None], self.parts[at:]])
        self.weights = torch.cat(
            [self.weights[:at], self.weights.new_tensor([weight]), self.weights[at:]]
        )

    def _drop(self, k: int) -> None:
        del self.structures[k]
        self.parts = torch.cat([self.parts[:k], self.parts[k + 1 :]])
        self.weights = torch.cat([self.weights[:k], self.weights[k + 1 :]])

    def _kept(self) -> Tensor:
        return self.parts * self.penalised

    def _gram(self) -> Tensor:
        """K = M_S^T D M_S + 1 1^T: integers."""
        return self._kept() @ self.parts.T + 1


def _factor(gram: Tensor) -> Tensor:
    factor, wrong = torch.linalg.cholesky_ex(gram)
    if int(wrong):
        raise _StuckError
    return factor
