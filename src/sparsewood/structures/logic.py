"""Logic over a few binary variables: the small factors of a factor graph, in closed form."""

from abc import abstractmethod
from dataclasses import dataclass, field

import torch
from torch import Tensor

from sparsewood._internal.batch import given_shape
from sparsewood._internal.numbers import check_whole
from sparsewood.structures._listing import sequences
from sparsewood.structures.base import OwnParts

_ENUMERATE_MAX = 16  # enumerate builds 2**n candidates
_TIGHT = 1e-11  # a sum this close to its bound counts as equal


class LogicFactor(OwnParts):
    """A set of 0/1 vectors whose convex hull has a closed-form Euclidean projection.

    The parts are the variables, (n,); a structure is their 0/1 vector. `sparsemap` treats these
    factors like any other structure; `lp_sparsemap` uses the closed forms below.
    """

    parts_ndim = 1

    @abstractmethod
    def project(self, scores: Tensor) -> Tensor:
        """The SparseMAP marginals: (N, n) float64 scores -> (N, n). -inf forbids a variable."""

    @abstractmethod
    def face(self, marginals: Tensor) -> Tensor:
        """The orthogonal projector onto the directions of the smallest face of the polytope that
        contains each point: (N, n) -> (N, n, n)."""

    def enumerate(self, n: int) -> Tensor:
        """Every allowed assignment of `n` variables, (count, n) int64; n at most 16."""
        if not 1 <= n <= _ENUMERATE_MAX:
            raise ValueError(f"enumerate: expected 1 to {_ENUMERATE_MAX} variables, got n = {n}")
        everything = sequences((0, 1), n)
        return everything[self.contains(everything, (n,))]

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        name, shape = type(self).__name__, tuple(scores.shape)
        if scores.ndim != 2 or shape[1] == 0:
            raise ValueError(
                f"{name}: expected scores (*batch, n) with n >= 1 variables, got "
                f"{given_shape(shape)}"
            )
        if not scores.is_floating_point():
            raise ValueError(f"{name}: expected scores of a floating dtype, got {scores.dtype}")
        if lengths is not None:
            raise ValueError(f"{name}: expected lengths=None, as all instances have the same size")


class _Count(LogicFactor):
    """Assignments in which between `low` and `high` literals are true.

    A literal is a variable, or its negation at the positions in `negated`. The polytope is the cube
    with the same two bounds on the sum, so the projection subtracts one number from all scores and
    clips the result to [0, 1] (Martins et al. 2015, "AD3", section 5).
    """

    negated: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "negated", tuple(self.negated))  # a list is accepted

    @abstractmethod
    def bounds(self, n: int) -> tuple[int, int]:
        """The minimum and maximum number of true literals out of `n`."""

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        self.validate(scores, lengths)
        low, high = self.bounds(scores.shape[1])
        flip = self._flip(scores)
        gain = torch.where(flip, -scores, scores)
        take = (gain > 0).sum(-1, keepdim=True).clamp(low, high)
        rank = gain.argsort(dim=-1, descending=True, stable=True).argsort(-1)
        return ((rank < take) ^ flip).long()

    def project(self, scores: Tensor) -> Tensor:
        low, high = self.bounds(scores.shape[1])
        flip = self._flip(scores)
        theta = _finite(torch.where(flip, 1 - scores, scores))
        literals = theta.clamp(0, 1)
        total = literals.sum(-1, keepdim=True)
        bound = total.clamp(low, high)
        literals = torch.where(total == bound, literals, _capped_simplex(theta, bound))
        return torch.where(flip, 1 - literals, literals)

    def face(self, marginals: Tensor) -> Tensor:
        low, high = self.bounds(marginals.shape[1])
        flip = self._flip(marginals)
        total = torch.where(flip, 1 - marginals, marginals).sum(-1, keepdim=True)
        tight = ((total - low).abs() <= _TIGHT) | ((total - high).abs() <= _TIGHT)
        free = ((marginals > 0) & (marginals < 1)).double()
        sign = torch.where(flip, -free, free)
        mean = sign * tight / free.sum(-1, keepdim=True).clamp(min=1)
        return torch.diag_embed(free) - sign[:, :, None] * mean[:, None]

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        low, high = self.bounds(structures.shape[1])
        binary = ((structures == 0) | (structures == 1)).all(-1)
        total = (structures.bool() ^ self._flip(structures)).sum(-1)
        return binary & (low <= total) & (total <= high)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        super().validate(scores, lengths)
        name, n = type(self).__name__, scores.shape[1]
        bad = [i for i in self.negated if not 0 <= i < n]
        if bad:
            raise ValueError(f"{name}: negated position {bad[0]} is not one of {n} variables")
        low, high = self.bounds(n)
        if low > min(high, n):
            raise ValueError(f"{name}: expected at least {low} variables, got {n}")

    def _flip(self, like: Tensor) -> Tensor:
        """(n,) bool: which literals are negated."""
        flip = torch.zeros(like.shape[1], dtype=torch.bool, device=like.device)
        flip[list(self.negated)] = True
        return flip


@dataclass(frozen=True)
class Xor(_Count):
    """Exactly one of the literals is true: the simplex."""

    negated: tuple[int, ...] = ()

    def bounds(self, n: int) -> tuple[int, int]:
        return 1, 1


@dataclass(frozen=True)
class AtMostOne(_Count):
    """At most one of the literals is true."""

    negated: tuple[int, ...] = ()

    def bounds(self, n: int) -> tuple[int, int]:
        return 0, 1


@dataclass(frozen=True)
class Or(_Count):
    """At least one of the literals is true."""

    negated: tuple[int, ...] = ()

    def bounds(self, n: int) -> tuple[int, int]:
        return 1, n


@dataclass(frozen=True)
class Budget(_Count):
    """At most `k` of the literals are true."""

    k: int
    negated: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("Budget: k", self.k, least=0)

    def bounds(self, n: int) -> tuple[int, int]:
        return 0, min(self.k, n)


@dataclass(frozen=True)
class Implies(_Count):
    """Over (a, b): if a is on, b is on (b or not a)."""

    negated: tuple[int, ...] = field(default=(0,), init=False)

    def bounds(self, n: int) -> tuple[int, int]:
        return 1, 2

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        super().validate(scores, lengths)
        if scores.shape[1] != 2:
            raise ValueError(f"Implies: expected two variables, got {scores.shape[1]}")


@dataclass(frozen=True)
class Pairwise(LogicFactor):
    """Over (a, b, both): the third variable is a AND b, and carries no penalty.

    Its score is added when both are on. The four assignments are the corners of a tetrahedron, so
    every point inside is a unique mixture of them.
    """

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        self.validate(scores, lengths)
        corners = _corners(scores)
        totals = torch.where(corners > 0, scores[:, None], 0).sum(-1)
        return corners[totals.argmax(-1)].long()

    def project(self, scores: Tensor) -> Tensor:
        """Martins et al. (2015), "AD3", appendix: the closed form for a positive pair score."""
        a, b, reward = _finite_pair(scores).unbind(-1)
        # A negative score of (a, b) is a positive score of (a, not b).
        repels = reward < 0
        a, b = torch.where(repels, a + reward, a), torch.where(repels, 1 - b, b)
        reward = reward.abs()
        middle = (a + b + reward) / 2
        x = torch.where(a > b + reward, a, torch.where(b > a + reward, a + reward, middle))
        y = torch.where(b > a + reward, b, torch.where(a > b + reward, b + reward, middle))
        x, y = x.clamp(0, 1), y.clamp(0, 1)
        both = torch.where(repels, x - torch.minimum(x, y), torch.minimum(x, y))
        return torch.stack([x, torch.where(repels, 1 - y, y), both], -1)

    def face(self, marginals: Tensor) -> Tensor:
        corners = _corners(marginals)
        support = self._weights(marginals) > _TIGHT
        first = corners[support.int().argmax(-1)]
        directions = torch.where(support[:, :, None], corners - first[:, None], 0)
        return directions.mT @ torch.linalg.pinv(directions @ directions.mT) @ directions

    def penalised(self, scores: Tensor) -> Tensor:
        return torch.tensor([True, True, False], device=scores.device)

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        a, b, both = structures.unbind(-1)
        return ((structures == 0) | (structures == 1)).all(-1) & (both == a * b)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        super().validate(scores, lengths)
        if scores.shape[1] != 3:
            raise ValueError(
                f"Pairwise: expected three variables (a, b, both), got {scores.shape[1]}"
            )

    @staticmethod
    def _weights(marginals: Tensor) -> Tensor:
        """The weight of each of the `_corners`: (N, 4)."""
        a, b, both = marginals.unbind(-1)
        return torch.stack([1 - a - b + both, a - both, b - both, both], -1)


def _corners(like: Tensor) -> Tensor:
    """(4, 3) float64: neither, only a, only b, both."""
    rows = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1]]
    return torch.tensor(rows, dtype=torch.float64, device=like.device)


def _finite(theta: Tensor) -> Tensor:
    """Replace -inf and +inf by finite scores that still project to exactly 0 and 1."""
    finite = theta.isfinite()
    high = torch.where(finite, theta, 0).amax(-1, keepdim=True).clamp(min=0) + 1
    low = torch.where(finite, theta, 1).amin(-1, keepdim=True).clamp(max=1) - 1
    return torch.where(finite, theta, torch.where(theta > 0, high, low))


def _finite_pair(scores: Tensor) -> Tensor:
    """Replace -inf by finite scores that still project to exactly 0 on the tetrahedron."""
    known = torch.where(scores.isfinite(), scores, 0)
    single, pair = known[:, :2], known[:, 2:]
    far = -known.abs().sum(-1, keepdim=True) - 4
    pair = torch.where(scores[:, 2:].isfinite(), pair, far)
    single = torch.where(scores[:, :2].isfinite(), single, far - pair.abs())
    return torch.cat([single, pair], -1)


def _capped_simplex(theta: Tensor, total: Tensor) -> Tensor:
    """The point of the cube with coordinates summing to `total` that is nearest to `theta`.

    It is `clip(theta - tau, 0, 1)`: its sum is piecewise linear in tau, with a bend where a
    coordinate leaves 0 (tau = theta) and where it reaches 1 (tau = theta - 1).
    """
    n = theta.shape[1]
    # With k = total, coordinates between 0 and 1 are near the k-th largest score: scores relative
    # to it keep full precision, however large they are.
    theta = theta - theta.sort(-1, descending=True).values.gather(-1, total.long().clamp(min=1) - 1)
    bends, order = torch.cat([theta, theta - 1], -1).sort(-1, descending=True)
    slope = torch.where(order < n, 1, -1).cumsum(-1)
    steps = slope[:, :-1] * (bends[:, :-1] - bends[:, 1:])
    sums = torch.nn.functional.pad(steps.cumsum(-1), (1, 0))
    piece = ((sums <= total).sum(-1, keepdim=True) - 1).clamp(min=0)
    bend, rate = bends.gather(-1, piece), slope.gather(-1, piece)
    tau = bend - (total - sums.gather(-1, piece)) / rate.clamp(min=1)
    # Recompute tau from the coordinates strictly between 0 and 1, without rounding from long sums.
    free, full = (theta > tau) & (theta < tau + 1), theta >= tau + 1
    count = free.sum(-1, keepdim=True)
    exact = torch.where(free, theta, 0).sum(-1, keepdim=True) + full.sum(-1, keepdim=True) - total
    tau = torch.where(count > 0, exact / count.clamp(min=1), tau)
    return (theta - tau).clamp(0, 1)
