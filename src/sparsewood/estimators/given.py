"""Structures that the caller has: a parser's trees, say."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from sparsewood._members import check_events, parts_of_members
from sparsewood.estimators.base import Estimator
from sparsewood.inference._check import check_input
from sparsewood.posterior import Posterior
from sparsewood.structures.base import Structure


@dataclass(frozen=True, repr=False, eq=False)
class Given(Estimator):
    """The structure that is given for each instance, with weight 1.

    Args:
        structures: (*batch, *event) integers, members of the family. None: they come later, as
            `Given(structures)`; `LatentTreeEncoder` takes them as `heads`.
    """

    structures: Tensor | None = None

    reads_scores: ClassVar[bool] = False

    def __call__(
        self,
        scores: Tensor,
        structure: Structure,
        lengths: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Posterior:
        if self.structures is None:
            raise ValueError("Given(): no structures are given; call Given(structures)")
        lengths = check_input(scores, structure, lengths)
        batch, shape = scores.shape[:1], tuple(scores.shape[1:])
        structures = check_events("given", self.structures, structure, scores)
        member = parts_of_members(structures, structure, scores, lengths)[1]
        if not member.all():
            b = int((~member).nonzero()[0])
            raise ValueError(
                f"given[{b}] is not one of {structure} for scores of shape "
                f"{tuple(scores.shape)}: {structures[b].tolist()}"
            )
        return Posterior.uniform(structure, structures, batch, shape, lengths, scores.dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given) and self.structures is other.structures

    def __hash__(self) -> int:
        return hash((Given, id(self.structures)))
