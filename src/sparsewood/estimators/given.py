"""Structures passed by the caller, such as a parser's trees."""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from sparsewood.estimators.base import Estimator, GradientThrough, Problem
from sparsewood.inference._check import check_input
from sparsewood.posterior import Posterior
from sparsewood.structures._members import check_events, check_members, parts_of_members


@dataclass(frozen=True, repr=False, eq=False)
class Given(Estimator):
    """One given structure per instance, with weight 1.

    Args:
        structures: (*batch, *event) integers, members of the family. None: a placeholder, to be
            replaced by `Given(structures)`; `LatentTreeEncoder` takes the structures as `heads`.
    """

    structures: Tensor | None = None

    reads_scores: ClassVar[bool] = False
    gradient_through: ClassVar[GradientThrough] = "none"

    def estimate(self, problem: Problem) -> Posterior:
        if self.structures is None:
            raise ValueError("Given(): expected structures, got None; use Given(structures)")
        structure = problem.structure
        batch, scores, lengths = check_input(problem.scores, structure, problem.lengths)
        structures = batch.flatten("given", self.structures)
        with batch:
            structures = check_events("given", structures, structure, scores)
            member = parts_of_members(structures, structure, scores, lengths)[1]
            check_members("given", structures, member, scores, structure)
        sizes = None if lengths is None else batch.restore(lengths)
        shape = tuple(scores.shape[1:])
        return Posterior.uniform(structure, structures, batch.shape, shape, sizes, scores.dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given) and self.structures is other.structures

    def __hash__(self) -> int:
        return hash((Given, id(self.structures)))
