"""Factor graphs: several structures and logic factors over shared binary variables."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from sparsewood._internal.numbers import check_whole, shown
from sparsewood.structures.base import Structure


@dataclass(frozen=True, eq=False)
class Factor:
    """One structure over some of the variables."""

    structure: Structure
    variables: Tensor  # (*parts) int64, -1 at parts that the structure never reads
    reads: Tensor  # (*parts) bool
    penalised: Tensor  # (*parts) bool


class FactorGraph:
    """Binary variables, and factors that say which of their assignments are allowed.

    A factor is a structure whose parts are some of the variables: a tree over arcs, a matching, or
    a logic factor (`Xor`, `Or`, `AtMostOne`, `Budget`, `Implies`, `Pairwise`). An assignment is
    allowed if every factor contains it. `lp_sparsemap` infers the marginals of the variables.

        graph = FactorGraph()
        x = graph.variables(4, 5)
        graph.add(Matching(), x)
        graph.add(Budget(2), x[:, 0])

    Variables are numbered in order of creation. A variable in no factor is unconstrained.
    """

    def __init__(self) -> None:
        self.factors: list[Factor] = []
        self.shapes: list[tuple[int, ...]] = []  # one per call of `variables`
        self._degree: list[int] = []  # how many factors read each variable
        self._penalised: list[bool] = []

    def variables(self, *shape: int) -> Tensor:
        """Create variables; returns their numbers, int64 of this shape."""
        for n in shape:
            check_whole(f"variables: every size in {shown(shape)}", n)
        start, count = len(self), prod(shape)
        self.shapes.append(shape)
        self._degree += [0] * count
        self._penalised += [True] * count
        return torch.arange(start, start + count).reshape(shape)

    def add(self, structure: Structure, variables: Tensor | Sequence[int | Tensor]) -> int:
        """Add the factor `structure` over `variables`, one per part; returns its number.

        Give -1 at parts that the structure never reads; a variable given there is fixed to 0. The
        variable at a part without quadratic penalty (transitions of a chain, the third part of
        `Pairwise`) must not be read by any other factor.
        """
        number, name = len(self.factors), type(structure).__name__
        if structure.costs_only:
            raise ValueError(
                f"factor {number} ({name}): expected an oracle for scores of any sign; {structure} "
                "takes scores of at most 0"
            )
        try:
            index = torch.as_tensor(variables).cpu()
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"factor {number} ({name}): expected a tensor of variables or a list of their "
                f"numbers, got {variables!r}"
            ) from error
        if index.is_floating_point() or index.dtype == torch.bool or index.numel() == 0:
            raise ValueError(
                f"factor {number} ({name}): expected the numbers of at least one variable, got "
                f"{index.dtype} of shape {tuple(index.shape)}"
            )
        if not structure.binary:
            raise ValueError(
                f"factor {number} ({name}): variables are 0 or 1, but the parts of {structure} are "
                "numbers"
            )
        index = index.long().clone()
        blank = torch.zeros(1, *index.shape, dtype=torch.float64)
        try:
            structure.validate(blank)
        except ValueError as error:
            raise ValueError(f"factor {number} ({name}): {error}") from None
        reads = structure.reads(blank)[0]
        mask = structure.penalised(blank)
        penalised = torch.ones_like(reads) if mask is None else mask.expand(index.shape)
        self._check_index(index, reads, f"factor {number} ({name})")
        self._count(index[reads].tolist(), penalised[reads].tolist(), f"factor {number} ({name})")
        self.factors.append(Factor(structure, index, reads, penalised))
        return number

    def join(self, *scores: Tensor) -> Tensor:
        """Concatenate scores (*batch, *shape), one per call of `variables`: (*batch, V)."""
        if not scores or len(scores) != len(self.shapes):
            raise ValueError(
                f"join: expected {len(self.shapes)} groups of variables, got {len(scores)}"
            )
        batch = scores[0].shape[: scores[0].ndim - len(self.shapes[0])]
        for k, (table, shape) in enumerate(zip(scores, self.shapes, strict=True)):
            if table.shape != (*batch, *shape):
                raise ValueError(
                    f"join: group {k} has shape {shape}, expected {(*batch, *shape)}, "
                    f"got {tuple(table.shape)}"
                )
        tables = zip(scores, self.shapes, strict=True)
        return torch.cat([table.reshape(*batch, prod(shape)) for table, shape in tables], -1)

    def contains(self, assignments: Tensor) -> Tensor:
        """Which of (N, V) 0/1 assignments every factor allows: (N,) bool.

        A factor allows an assignment if its oracle returns it when these variables score highest.
        """
        legal = ((assignments == 0) | (assignments == 1)).all(-1)
        on = torch.nn.functional.pad((assignments == 1).double(), (0, 1))  # -1: never on
        for factor in self.factors:
            parts = on[:, factor.variables.to(on.device)]
            best = factor.structure.argmax(2 * parts - 1)
            used = factor.structure.indicator(best, tuple(parts.shape[1:]))
            legal &= (used == parts).flatten(1).all(-1)
        return legal

    @property
    def degree(self) -> Tensor:
        """(V,) int64: how many factors read each variable."""
        return torch.tensor(self._degree, dtype=torch.int64)

    @property
    def penalised(self) -> Tensor:
        """(V,) bool: which variables carry the quadratic penalty."""
        return torch.tensor(self._penalised, dtype=torch.bool)

    @property
    def off(self) -> Tensor:
        """(V,) bool: variables fixed to 0, because a factor never reads their part."""
        off = torch.zeros(len(self), dtype=torch.bool)
        for factor in self.factors:
            off[factor.variables[~factor.reads & (factor.variables >= 0)]] = True
        return off

    @property
    def is_forest(self) -> bool:
        """Whether the graph has no cycles; the relaxation is then exact."""
        parent = list(range(len(self) + len(self.factors)))

        def root(node: int) -> int:
            while parent[node] != node:
                parent[node] = parent[parent[node]]
                node = parent[node]
            return node

        off = self.off
        for number, factor in enumerate(self.factors):
            for v in factor.variables[factor.reads].tolist():
                if off[v]:
                    continue
                a, b = root(v), root(len(self) + number)
                if a == b:
                    return False
                parent[a] = b
        return True

    def __len__(self) -> int:
        """The number of variables."""
        return len(self._degree)

    def __repr__(self) -> str:
        return f"FactorGraph({len(self)} variables, {len(self.factors)} factors)"

    def _check_index(self, index: Tensor, reads: Tensor, what: str) -> None:
        bad = (index >= len(self)) | (index < -1)
        missing = reads & (index == -1)
        if bad.any():
            part = tuple(bad.nonzero()[0].tolist())
            raise ValueError(
                f"{what}: variable {int(index[part])} at part {part} is not one of the "
                f"{len(self)} variables of the graph"
            )
        if missing.any():
            part = tuple(missing.nonzero()[0].tolist())
            raise ValueError(f"{what}: expected a variable at part {part}, which is read; got -1")

    def _count(self, variables: list[int], penalised: list[bool], what: str) -> None:
        """Update the degrees; raise ValueError if a part without penalty shares its variable."""
        degree, carries = self._degree.copy(), self._penalised.copy()
        for v, has_penalty in zip(variables, penalised, strict=True):
            degree[v] += 1
            if degree[v] > 1 and not (has_penalty and carries[v]):
                raise ValueError(
                    f"{what}: variable {v} is used by a part without penalty and by another part; "
                    "use a separate variable for the part without penalty"
                )
            carries[v] = has_penalty
        self._degree, self._penalised = degree, carries
