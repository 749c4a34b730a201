"""One tree that is the same for every sentence of a length, whatever the scores."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from sparsewood._lengths import lengths_or_full
from sparsewood.estimators.base import Estimator
from sparsewood.inference._check import check_input
from sparsewood.posterior import Posterior
from sparsewood.structures.base import Structure
from sparsewood.structures.branching_trees import Branching, BranchingTrees, branching_heads
from sparsewood.structures.dependency import DependencyTrees


@dataclass(frozen=True, repr=False)
class Fixed(Estimator):
    """The tree of a kind with weight 1: a baseline for latent trees.

    Args:
        kind: "flat": all words hang from the root. "left_to_right": the chain that is read so, the
            head of each word being the next one; the last word hangs from the root.
            "right_to_left": its mirror image, the first word hangs from the root.
    """

    kind: Branching

    reads_scores: ClassVar[bool] = False

    def __post_init__(self) -> None:
        BranchingTrees(self.kind)

    def __call__(
        self,
        scores: Tensor,
        structure: Structure,
        lengths: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Posterior:
        """The posterior over `BranchingTrees(kind)`, for scores (*batch, n, n + 1) of trees."""
        if not isinstance(structure, DependencyTrees | BranchingTrees):
            raise ValueError(f"{self}: expected dependency trees, got {structure}")
        trees = BranchingTrees(self.kind)
        lengths = check_input(scores, trees, lengths)
        batch, shape = scores.shape[:-2], tuple(scores.shape[-2:])
        heads = branching_heads(self.kind, lengths_or_full(lengths, scores), shape[0])
        return Posterior.uniform(trees, heads, batch, shape, lengths, scores.dtype)
