"""A batch of LP-SparseMAP problems, split into factors with their local problems.

A *slot* is a part of a factor. A variable has a copy in each of its slots. The slots of all factors
form one row. Factors of equal structure and shape are adjacent, so that one call solves them all.
Slots that are never read belong to a dummy variable, the last, which is fixed to 0.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from math import prod

import torch
from torch import Tensor

from sparsewood._internal.batch import name_instance
from sparsewood.calls import count
from sparsewood.inference.sparsemap import sparsemap
from sparsewood.sparse_posterior import SparsePosterior
from sparsewood.structures.base import Structure
from sparsewood.structures.factor_graph import FactorGraph
from sparsewood.structures.logic import LogicFactor
from sparsewood.structures.oracle_error import OracleError

_TOL = 1e-12  # tolerance of the local solves


@dataclass(frozen=True)
class Group:
    """Factors of one structure over tables of one shape."""

    structure: Structure
    numbers: list[int]  # indices of the factors in the graph
    shape: tuple[int, ...]
    slots: slice

    def tables(self, row: Tensor) -> Tensor:
        """(B, N) slots -> (B * F, *shape), the tables of the F factors of each instance."""
        return row[:, self.slots].reshape(-1, *self.shape)

    def flat(self, row: Tensor) -> Tensor:
        """(B, N) slots -> (B * F, parts)."""
        return row[:, self.slots].reshape(-1, prod(self.shape))

    def slots_of(self, number: int) -> slice:
        """The slots of one factor."""
        width = prod(self.shape)
        start = self.slots.start + self.numbers.index(number) * width
        return slice(start, start + width)

    def best(self, tables: Tensor) -> Tensor:
        """The parts of the best structure for each (K, *shape) of scores: 0/1, the same shape."""
        count("map", len(tables))
        return self.structure.indicator(self.structure.argmax(tables), self.shape)

    def posterior(self, scores: Tensor, rows: Tensor) -> SparsePosterior:
        """SparseMAP of each factor for (B, N) scores of the slots; `rows` are the instances."""
        try:
            return sparsemap(self.tables(scores), self.structure, tol=_TOL)
        except OracleError as error:
            instance = rows.repeat_interleave(len(self.numbers))
            raise error.renumbered(instance) from error.__cause__


@dataclass(frozen=True)
class LPProblem:
    """B instances over V variables and a dummy, in N slots."""

    groups: list[Group]
    variable: Tensor  # (N,) variable of each slot
    degree: Tensor  # (V + 1,) float64, how many slots each variable has
    penalty: Tensor  # (V + 1,) float64, 1 or 0
    rows: Tensor  # (B,) which instances of the batch these are
    theta: Tensor  # (B, V + 1), 0 where off
    off: Tensor  # (B, V + 1) bool: forbidden or never used

    @classmethod
    def of(cls, graph: FactorGraph, theta: Tensor, off: Tensor) -> "LPProblem":
        """From scores (B, V) and a mask of the variables that are off."""
        groups, columns = [], []
        start = 0
        for members in _alike(graph):
            first = graph.factors[members[0]]
            for number in members:
                factor = graph.factors[number]
                used = torch.where(factor.reads, factor.variables, len(graph))
                columns.append(used.flatten())
            stop = start + len(members) * first.variables.numel()
            shape = tuple(first.variables.shape)
            groups.append(Group(first.structure, members, shape, slice(start, stop)))
            start = stop
        device = theta.device
        variable = (
            torch.cat(columns).to(device) if columns else torch.zeros(0, device=device).long()
        )
        degree = torch.bincount(variable, minlength=len(graph) + 1).double()
        pad = torch.nn.functional.pad
        return cls(
            groups,
            variable,
            degree,
            pad(graph.penalised.double(), (0, 1), value=1.0).to(device),
            torch.arange(len(theta), device=device),
            pad(theta, (0, 1)),
            pad(off, (0, 1), value=True),
        )

    def take(self, rows: Tensor) -> "LPProblem":
        """The problem of some instances."""
        return replace(self, rows=self.rows[rows], theta=self.theta[rows], off=self.off[rows])

    def copies(self, values: Tensor) -> Tensor:
        """(B, V + 1) or (V + 1,) variables -> (B, N) or (N,): the value in each slot."""
        return values[..., self.variable]

    def total(self, slots: Tensor) -> Tensor:
        """(B, N) -> (B, V + 1): the sum over the slots of each variable."""
        sums = slots.new_zeros(len(slots), len(self.degree))
        return sums.index_add(1, self.variable, slots)

    def mean(self, slots: Tensor) -> Tensor:
        """(B, N) -> (B, V + 1): the mean over slots; for variables in no factor, the optimum."""
        alone = self.theta.clamp(0, 1).masked_fill(self.off, 0)
        return torch.where(self.degree > 0, self.total(slots) / self.degree.clamp(min=1), alone)

    def closed(self, slots: Tensor) -> Tensor:
        """The scores with -inf at variables that are off."""
        return slots.masked_fill(self.copies(self.off), -torch.inf)

    def solve(self, scores: Tensor) -> Tensor:
        """SparseMAP of each factor for (B, N) scores of its slots: the marginals (B, N)."""
        scores = self.closed(scores)
        answer = torch.zeros_like(scores)
        for group in self.groups:
            if isinstance(group.structure, LogicFactor):
                x = group.structure.project(group.flat(scores))
            else:
                x = group.posterior(scores, self.rows).marginals
            answer[:, group.slots] = x.reshape(len(scores), -1)
        return answer

    def advantage(self, scores: Tensor, marginals: Tensor) -> Tensor:
        """The sum over factors of `max_m <scores, m> - <scores, marginals>`, both (B, N): (B,)."""
        closed = self.closed(scores)
        gap = -(scores * marginals).masked_fill(self.copies(self.off), 0).sum(-1)
        for group in self.groups:
            best = group.best(group.tables(closed)).reshape(len(scores), -1)
            gap = gap + torch.where(best != 0, closed[:, group.slots], 0).sum(-1)
        return gap.clamp(min=0)

    def check_possible(self) -> None:
        """Raise ValueError if a factor has no assignment without the variables that are off."""
        banned = self.copies(self.off)
        closed = self.closed(torch.zeros_like(banned, dtype=torch.float64))
        for group, number, scores, forbidden in self._each_factor(closed, banned):
            name = f"factor {number} ({type(group.structure).__name__})"
            try:
                best = group.best(scores).bool()
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
            dead = (best & forbidden).flatten(1).any(-1)
            if dead.any():
                instance = name_instance(int(dead.nonzero()[0]), len(dead))
                raise ValueError(
                    f"{instance} has no assignment left in {name}: "
                    "each uses a variable that is forbidden (-inf) or never used by another factor"
                )

    def _each_factor(
        self, closed: Tensor, banned: Tensor
    ) -> Iterator[tuple[Group, int, Tensor, Tensor]]:
        for group in self.groups:
            tables = [
                row[:, group.slots].reshape(len(row), len(group.numbers), *group.shape)
                for row in (closed, banned)
            ]
            for k, number in enumerate(group.numbers):
                yield group, number, tables[0][:, k], tables[1][:, k]


def _alike(graph: FactorGraph) -> list[list[int]]:
    """The indices of the factors, grouped by structure and shape."""
    found: dict[tuple[object, torch.Size], list[int]] = {}
    for number, factor in enumerate(graph.factors):
        structure = factor.structure
        key = structure if isinstance(structure, Hashable) else id(structure)
        found.setdefault((key, factor.variables.shape), []).append(number)
    return list(found.values())
