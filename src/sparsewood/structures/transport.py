"""Transport: pairs of rows and columns, of which each takes part in several."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sparsewood._internal.batch import given_shape, name_instance
from sparsewood._internal.host import host_copy
from sparsewood._internal.numbers import check_whole
from sparsewood.structures._bipartite import Bipartite, check_sides
from sparsewood.structures._listing import check_count
from sparsewood.structures.base import Native, OwnParts
from sparsewood.structures.recursions import Total

_MOST = 30_000  # units of a row or column
_ENUMERATE_MAX = 6  # rows and columns

Capacities = int | tuple[int, ...]


@dataclass(frozen=True)
class Transport(OwnParts, Bipartite):
    """Pairs of `n` rows with `m` columns, where each row and column is in a given number of pairs.

    The parts are pairs: `scores[b, i, j]`, shape (B, n, m), scores row `i` with column `j`. A
    structure is the matrix that says how often each pair is used, (n, m) int64, 0 or 1 by default;
    padding holds 0. Its sums over columns are the capacities of the rows, and its sums over rows
    those of the columns. `lengths` is (B, 2): the rows and columns of each instance, which have the
    first of the capacities.

    Examples are routing to experts (each token to exactly 2 experts, each expert at most 8 tokens:
    `Transport(2, 8, column_least=0)`), clusters of equal size (`Transport(1, n // k)`) and optimal
    transport between histograms (`Transport(masses, other_masses, pair_capacity=None)`).
    `Matching` is the case in which all capacities are 1.

    The MAP oracle is a minimum-cost flow by prices and shortest augmenting paths, in O(U n m) for
    `U` units in total, and mostly in far less, as prices are kept between calls. With
    `pair_capacity=1` the solver is native and the marginals of SparseMAP are the projection of the
    scores onto the matrices with entries in [0, 1] and these sums. Otherwise parts are numbers:
    the oracle is native, the solver generic, and the marginals are the transport plan that
    maximises `<scores, u> - ||u||^2 / 2`, quadratically regularised optimal transport.

    Args:
        row_capacities: how many pairs each row is in: a number for all rows, or n of them.
        column_capacities: how many pairs each column is in: a number for all columns, or m of them.
        row_least: if given, a row is in at least this many pairs, and at most its capacity. A
            number, or n of them.
        column_least: the same for columns.
        pair_capacity: how often a pair may be used; None: any number of times.

    Example:
        >>> scores = torch.tensor([[[3.0, 0.0], [2.0, 1.0], [1.0, 2.0], [4.0, 0.0]]])
        >>> sp.Transport(1, 2).argmax(scores)
        tensor([[[1, 0],
                 [0, 1],
                 [0, 1],
                 [1, 0]]])
        >>> sp.Transport([2, 1], [3], pair_capacity=None).argmax(torch.zeros(1, 2, 1))
        tensor([[[2],
                 [1]]])
    """

    row_capacities: Any  # kept as Capacities
    column_capacities: Any
    row_least: Any = None
    column_least: Any = None
    pair_capacity: int | None = 1

    def __post_init__(self) -> None:
        if self.pair_capacity is not None:
            check_whole("Transport: pair_capacity", self.pair_capacity, most=_MOST)
        object.__setattr__(self, "binary", self.pair_capacity == 1)
        for side in ("row", "column"):
            capacities = _capacities(f"{side}_capacities", getattr(self, f"{side}_capacities"))
            object.__setattr__(self, f"{side}_capacities", capacities)
            if (least := getattr(self, f"{side}_least")) is not None:
                least = _capacities(f"{side}_least", least)
                object.__setattr__(self, f"{side}_least", least)
                _check_least(side, least, capacities)

    def bounds(self, n: int, m: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The fewest and the most units of each row, and of each column."""
        return self._side("row", n), self._side("column", m)

    def _side(self, side: str, count: int) -> list[tuple[int, int]]:
        capacities, least = getattr(self, f"{side}_capacities"), getattr(self, f"{side}_least")
        most = _of_each(capacities, count)
        return list(zip(most if least is None else _of_each(least, count), most, strict=True))

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        super().validate(scores, lengths)
        for side, size in zip(("row", "column"), scores.shape[1:], strict=True):
            for name in (f"{side}_capacities", f"{side}_least"):
                given = getattr(self, name)
                if isinstance(given, tuple) and len(given) != size:
                    raise ValueError(
                        f"pair scores of shape {given_shape(scores.shape)} have {size} {side}s, "
                        f"but Transport has {len(given)} {name}"
                    )
        if torch.compiler.is_compiling():
            return
        sizes = [tuple(scores.shape[1:])]
        if lengths is not None:
            sizes = [(int(n), int(m)) for n, m in host_copy(lengths).tolist()]
        found = {size: self._problem(*size) for size in set(sizes)}
        for b, size in enumerate(sizes):
            if found[size] is not None:
                where = "" if lengths is None else f"{name_instance(b, len(sizes))}: "
                raise ValueError(
                    f"{where}no structure of {self} has {size[0]} rows and {size[1]} columns "
                    f"(scores of shape {given_shape(scores.shape)}): {found[size]}"
                )

    def _problem(self, n: int, m: int) -> str | None:
        """Why no structure has this size, if the bounds of single rows and the totals say so."""
        fewest, most = [], []
        for side, bounds, others in zip(("row", "column"), self.bounds(n, m), (m, n), strict=True):
            room = _MOST * others if self.pair_capacity is None else self.pair_capacity * others
            for i, (least, _) in enumerate(bounds):
                if least > room:
                    return f"{side} {i} needs {least} units, but can be paired {room} times at most"
            fewest.append(sum(least for least, _ in bounds))
            most.append(sum(min(capacity, room) for _, capacity in bounds))
        for a, b, needing, taking in ((0, 1, "rows", "columns"), (1, 0, "columns", "rows")):
            if fewest[a] > most[b]:
                return f"the {needing} need {fewest[a]} units, but the {taking} take {most[b]}"
        return None

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (T, n, m) use no pair too often and have the right sums: (T,)."""
        limit = _MOST if self.pair_capacity is None else self.pair_capacity
        legal = (structures >= 0) & (structures <= limit)
        reads = self.reads(structures, lengths)
        legal = (legal & (reads | (structures == 0))).flatten(1).all(-1)
        for dim, bounds in zip((-1, -2), self.bounds(*shape), strict=True):
            inside = reads.any(dim)
            least, most = torch.tensor(bounds, device=structures.device).unbind(-1)
            total = structures.sum(dim)
            legal = legal & (~inside | ((least <= total) & (total <= most))).all(-1)
        return legal

    def count(self, n: int, m: int) -> int:
        """How many structures there are, by the sums of columns after each row."""
        check_sides(n, m, _ENUMERATE_MAX)
        rows, columns = self.bounds(n, m)
        sums = Counter({(0,) * m: 1})
        for least, most in rows:
            after: Counter[tuple[int, ...]] = Counter()
            for total, ways in sums.items():
                for row in self._rows(least, most, _left(columns, total)):
                    after[tuple(a + b for a, b in zip(total, row, strict=True))] += ways
            sums = after
        return sum(ways for total, ways in sums.items() if _is_enough(columns, total))

    def enumerate(self, n: int, m: int) -> Tensor:
        """Every structure, (count(n, m), n, m) int64; n and m at most 6."""
        check_count(self.count(n, m), "structures", f"in {self} for {n} rows and {m} columns")
        rows, columns = self.bounds(n, m)
        found: list[list[tuple[int, ...]]] = [[]]
        for least, most in rows:
            found = [
                [*table, row]
                for table in found
                for row in self._rows(least, most, _left(columns, _sums(table, m)))
            ]
        found = [table for table in found if _is_enough(columns, _sums(table, m))]
        return torch.tensor(found, dtype=torch.int64).reshape(-1, n, m)

    def _rows(self, least: int, most: int, left: Sequence[int]) -> list[tuple[int, ...]]:
        """All rows of `least` to `most` units in columns that have so many left."""
        found: list[tuple[int, ...]] = [()]
        for room in left:
            limit = room if self.pair_capacity is None else min(room, self.pair_capacity)
            found = [
                (*row, units) for row in found for units in range(min(limit, most - sum(row)) + 1)
            ]
        return [row for row in found if sum(row) >= least]

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        raise ValueError(
            f"no marginals for {self}: the sum over all structures generalises a permanent, which "
            "is #P-hard to compute. sparsewood.sparsemap gives marginals"
        )

    @property
    def has_sums(self) -> bool:
        return False

    @property
    def has_kbest(self) -> bool:
        return self.binary

    @property
    def native(self) -> Native:
        listed = [
            len(capacities)
            for capacities in (
                self.row_capacities,
                self.column_capacities,
                self.row_least,
                self.column_least,
            )
            if isinstance(capacities, tuple)
        ]
        count = max(listed, default=1)
        bounds = [a | b << 16 for side in self.bounds(count, count) for a, b in side]
        if self.binary:
            return Native("transport", (2 * count, *bounds))
        limit = _MOST if self.pair_capacity is None else self.pair_capacity
        return Native("transport", (2 * count + 1, limit, *bounds))

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    def __repr__(self) -> str:
        options = [str(_shown(self.row_capacities)), str(_shown(self.column_capacities))]
        for name in ("row_least", "column_least"):
            if (given := getattr(self, name)) is not None:
                options.append(f"{name}={_shown(given)}")
        if self.pair_capacity != 1:
            options.append(f"pair_capacity={self.pair_capacity}")
        return f"Transport({', '.join(options)})"


def _capacities(name: str, given: Any) -> Capacities:
    """A number, or a tuple of them; raises ValueError for anything else."""
    if isinstance(given, Tensor):
        given = given.tolist()
    if isinstance(given, str) or not hasattr(given, "__len__"):
        return check_whole(f"Transport: {name}", given, least=0, most=_MOST)
    if len(given) == 0:
        raise ValueError(f"Transport: {name}: expected at least one number, got none")
    return tuple(
        check_whole(f"Transport: {name}[{i}]", one, least=0, most=_MOST)
        for i, one in enumerate(given)
    )


def _check_least(side: str, least: Capacities, capacities: Capacities) -> None:
    sizes = [len(one) for one in (least, capacities) if isinstance(one, tuple)]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"Transport: expected one {side}_least for each of {sizes[1]} {side}s, got {sizes[0]}"
        )
    count = max(sizes, default=1)
    pairs = zip(_of_each(least, count), _of_each(capacities, count), strict=True)
    for i, (fewest, most) in enumerate(pairs):
        if fewest > most:
            raise ValueError(
                f"Transport: {side}_least of {side} {i} is {fewest}: expected at most its "
                f"capacity, {most}"
            )


def _of_each(given: Capacities, count: int) -> list[int]:
    """The first `count` of these; the last is repeated, which only padding has."""
    if isinstance(given, int):
        return [given] * count
    return [*given[:count], *given[-1:] * (count - len(given))]


def _shown(given: Capacities) -> int | str:
    if isinstance(given, int):
        return given
    shown = ", ".join(map(str, given if len(given) <= 8 else given[:6]))
    return f"[{shown}]" if len(given) <= 8 else f"[{shown}, ... {len(given)} in all]"


def _sums(table: list[tuple[int, ...]], m: int) -> tuple[int, ...]:
    return tuple(map(sum, zip(*table, strict=True))) if table else (0,) * m


def _left(columns: list[tuple[int, int]], total: tuple[int, ...]) -> list[int]:
    return [most - units for (_, most), units in zip(columns, total, strict=True)]


def _is_enough(columns: list[tuple[int, int]], total: tuple[int, ...]) -> bool:
    return all(least <= units for (least, _), units in zip(columns, total, strict=True))
