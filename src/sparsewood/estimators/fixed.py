"""A fixed tree that depends only on the length of the sentence."""

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

# (words (n,) = 1..n, lengths (B, 1)) -> heads (B, n), any values beyond the lengths
_HEADS: dict[Kind, Callable[[Tensor, Tensor], Tensor]] = {
    "flat": lambda words, lengths: torch.zeros_like(words).expand(len(lengths), -1),
    "left_to_right": lambda words, lengths: torch.where(words < lengths, words + 1, 0),
    "right_to_left": lambda words, lengths: (words - 1).expand(len(lengths), -1),
}


@dataclass(frozen=True, repr=False)
class Fixed(Estimator):
    """A fixed tree with weight 1: a baseline for latent trees.

    Args:
        kind: "flat": the root is the head of all words. "left_to_right": the head of each word is
            the next word, and the root is the head of the last. "right_to_left": the mirror image.
    """

    kind: Kind

    reads_scores: ClassVar[bool] = False
    gradient_through: ClassVar[GradientThrough] = "none"

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, Kind)

    def estimate(self, problem: Problem) -> Posterior:
        """The posterior for arc scores (*batch, n, n + 1).

        Its structure is `DependencyTrees()`, as the family may not allow several roots.
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
