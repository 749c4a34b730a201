"""One tree that is the same for every sentence of a length, whatever the scores."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from sparsewood._internal.lengths import lengths_or_full
from sparsewood._internal.numbers import check_choice
from sparsewood.estimators.base import Estimator, GradientThrough, Problem
from sparsewood.inference._check import check_input
from sparsewood.posterior import Posterior
from sparsewood.structures.dependency import DependencyTrees

Kind = Literal["flat", "left_to_right", "right_to_left"]

# (words (n,) = 1..n, lengths (B, 1)) -> heads (B, n), whatever beyond the lengths
_HEADS: dict[Kind, Callable[[Tensor, Tensor], Tensor]] = {
    "flat": lambda words, lengths: torch.zeros_like(words).expand(len(lengths), -1),
    "left_to_right": lambda words, lengths: torch.where(words < lengths, words + 1, 0),
    "right_to_left": lambda words, lengths: (words - 1).expand(len(lengths), -1),
}


@dataclass(frozen=True, repr=False)
class Fixed(Estimator):
    """The tree of a kind with weight 1: a baseline for latent trees.

    Args:
        kind: "flat": all words hang from the root. "left_to_right": the chain that is read so, the
            head of each word being the next one; the last word hangs from the root.
            "right_to_left": its mirror image, the first word hangs from the root.
    """

    kind: Kind

    reads_scores: ClassVar[bool] = False
    gradient_through: ClassVar[GradientThrough] = "none"

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, Kind)

    def estimate(self, problem: Problem) -> Posterior:
        """The posterior for scores (*batch, n, n + 1) of trees.

        It is one over `DependencyTrees()`: a flat tree has many roots, whatever the family allows.
        """
        if not isinstance(problem.structure, DependencyTrees):
            raise ValueError(f"{self}: expected dependency trees, got {problem.structure}")
        trees = DependencyTrees()
        batch, scores, lengths = check_input(problem.scores, trees, problem.lengths)
        sizes = lengths_or_full(lengths, scores)[:, None]
        words = torch.arange(1, scores.shape[1] + 1, device=scores.device)
        heads = torch.where(words <= sizes, _HEADS[self.kind](words, sizes), -1)
        given = None if lengths is None else batch.restore(lengths)
        shape = tuple(scores.shape[1:])
        return Posterior.uniform(trees, heads, batch.shape, shape, given, scores.dtype)
