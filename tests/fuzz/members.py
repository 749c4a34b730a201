"""All structures of an instance, and what follows from enumeration, in extended precision.

`numpy.longdouble` has a mantissa of 64 bits on x86; where it is a double, the tolerances hold too.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Long = np.longdouble
Longs = NDArray[np.longdouble]
Floats = NDArray[np.float64]

EPSILON = 2.0**-52


class Members:
    """The structures of one instance: encodings, and the parts of each as a row of numbers.

    Args:
        events: (count, *event) int64.
        columns: (count, P), 0/1 in most families.
        penalised: (P,) bool.
    """

    def __init__(
        self, events: NDArray[np.int64], columns: Floats, penalised: NDArray[np.bool_]
    ) -> None:
        self.events = events
        self.columns = columns
        self.penalised = penalised
        self.used = columns.astype(bool)
        self.long = columns.astype(Long)
        self.slots = max(1, int(np.ceil(np.abs(columns).sum(-1).max())))
        self.largest = max(1.0, float(np.abs(columns).max()))
        # `tol` is relative to a power of two of this size if parts are numbers.
        self.unit = 1.0 if ((columns == 0) | (columns == 1)).all() else 2 * self.largest
        # Adding a number to all scores changes no probability.
        self.same_size = len(set(columns.sum(-1))) == 1
        self._index = {row.tobytes(): i for i, row in enumerate(events)}
        assert len(self._index) == len(events), "enumerate lists a structure twice"

    def __len__(self) -> int:
        return len(self.events)

    def find(self, event: NDArray[np.int64]) -> int | None:
        """The index of a structure; None if it is not a member."""
        return self._index.get(np.ascontiguousarray(event).tobytes())

    @cached_property
    def hull(self) -> tuple[Floats, Floats]:
        """(A, b): the equations `A m = b` that all structures satisfy."""
        _, sizes, directions = np.linalg.svd(self.columns - self.columns[0])
        rank = int((sizes > 1e-9).sum())
        normal = directions[rank:]
        return normal, normal @ self.columns[0]

    def off_hull(self, u: Floats) -> float:
        """How far a point (P,) is from the affine hull and the bounding box, [0, 1] or larger."""
        normal, offset = self.hull
        low, high = self.columns.min(0).clip(max=0), self.columns.max(0).clip(min=1)
        outside = np.maximum(low - u, u - high).max()
        return float(max(outside, np.abs(normal @ u - offset).max(initial=0.0)))


class Instance:
    """One instance: scores over members.

    Args:
        members: all its structures.
        theta: (P,) extended, scores / temperature; any value at parts that are not read.
        reads: (P,) bool.
    """

    def __init__(self, members: Members, theta: Longs, reads: NDArray[np.bool_]) -> None:
        self.members = members
        self.forbidden = reads & (theta == -np.inf)
        finite = reads & ~self.forbidden
        self.theta: Longs = np.where(finite, theta, Long(0))
        self.usable = ~(members.used & self.forbidden).any(-1)
        seen = self.theta[finite]
        self.magnitude = float(np.abs(seen).max(initial=0.0))
        self.range = float(seen.max() - seen.min()) if len(seen) else 0.0
        self.unit = (self.range or 1.0) * members.unit  # `tol` is relative to this
        # The constant shared by all structures is separate, to keep the precision of differences.
        level = seen.max() if members.same_size and len(seen) else Long(0)
        self.shared: Long = members.long[0].sum() * level
        self.apart: Longs = np.where(finite, self.theta - level, Long(0))

    @cached_property
    def differences(self) -> Longs:
        """(count,) the score of each structure minus the shared constant; -inf if forbidden."""
        return np.where(self.usable, self.members.long @ self.apart, -np.inf)

    @cached_property
    def totals(self) -> Longs:
        """(count,) the score of each structure; -inf if forbidden."""
        return self.differences + self.shared

    @property
    def noise(self) -> float:
        """A bound on the rounding error of the score of a structure in float64."""
        return 8 * EPSILON * self.members.slots * (self.members.largest + self.magnitude)

    @cached_property
    def _log_sum(self) -> Long:
        top = self.differences.max()
        return top + np.log(np.exp(self.differences - top).sum())

    @property
    def log_z(self) -> Long:
        return self._log_sum + self.shared

    @cached_property
    def log_probs(self) -> Longs:
        return self.differences - self._log_sum

    @cached_property
    def probs(self) -> Longs:
        return np.exp(self.log_probs)

    @cached_property
    def marginals(self) -> Longs:
        return self.probs @ self.members.long

    @cached_property
    def entropy(self) -> float:
        finite = np.where(self.usable, self.log_probs, Long(0))
        return float(-(self.probs * finite).sum())

    def sums_noise(self, dtype_epsilon: float) -> float:
        """A bound on the error of sums over all structures, relative to their differences."""
        spread = self.range if self.members.same_size else self.magnitude
        return 1e-10 * max(1.0, spread) + 4 * dtype_epsilon

    def gap(self, u: Longs) -> float:
        """The duality gap of SparseMAP at marginals (P,): max_h <theta - D u, m(h) - u>."""
        slope = self.theta - np.where(self.members.penalised, u, Long(0))
        values = np.where(self.usable, self.members.long @ slope, -np.inf)
        return float(values.max() - slope @ u)

    def objective(self, u: Longs) -> float:
        """<theta, u> - 1/2 ||D u||^2"""
        counted = np.where(self.members.penalised, u, Long(0))
        return float(self.theta @ u - counted @ counted / 2)
