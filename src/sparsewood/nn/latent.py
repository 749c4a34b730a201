"""From word vectors to one vector per tree, the trees being latent or fixed."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from sparsewood.estimators.base import Estimator, check_estimator
from sparsewood.estimators.given import Given
from sparsewood.estimators.sparse_map import SparseMAP
from sparsewood.nn._check import check_lengths
from sparsewood.posterior import Posterior
from sparsewood.structures.base import Structure
from sparsewood.structures.dependency import DependencyTrees


class LatentTreeEncoder(nn.Module):
    """Trees for each sentence, and the composer's vector for each tree.

    Where the trees come from is the estimator's business, and the probability of an output is
    `posterior.expect(...)` for all of them: latent trees by `SparseMAP` (Niculae, Martins & Cardie
    2018, "Towards dynamic computation graphs via sparse latent structure") or `TopK`, the trees of
    a parser by `Given()`, a baseline by `Fixed("flat")`.

    Args:
        scorer: (B, n, d) -> arc scores (B, n, n + 1). It is left out of the module where the
            estimator reads no scores; None does for such.
        composer: `composer(x, forest)` -> (T, hidden) root states: `ChildSumTreeLSTM`, `TreeGRU`,
            `OrderedComposer`.
        structure: the family of trees. Default: `DependencyTrees()`.
        estimator: of trees; may be set to another value at any time.
        noise: scores -> scores, between scorer and estimator: `GumbelNoise`. Default: none.
    """

    def __init__(
        self,
        scorer: nn.Module | None,
        composer: nn.Module,
        structure: Structure | None = None,
        *,
        estimator: Estimator = SparseMAP(),
        noise: nn.Module | None = None,
    ) -> None:
        super().__init__()
        check_estimator(estimator)
        if scorer is None and estimator.reads_scores:
            raise ValueError(f"the estimator {estimator} needs a scorer")
        self.scorer = scorer if estimator.reads_scores else None
        self.noise = nn.Identity() if noise is None else noise
        self.composer = composer
        self.structure = DependencyTrees() if structure is None else structure
        self.estimator = estimator

    def forward(
        self,
        x: Tensor,
        lengths: Tensor | None = None,
        heads: Tensor | None = None,
        *,
        words: Tensor | None = None,
        forbidden: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Posterior, Tensor]:
        """The posterior over trees, and the vector of each tree of its support.

        Args:
            x: (B, n, d) word vectors, for the scorer.
            lengths: (B,) words of each sentence. Default: all have n.
            heads: (B, n) the trees of the estimator `Given()`, and of no other; what lies beyond
                `lengths` may be anything.
            words: (B, n, e) word vectors for the composer. Default: `x`. Where `x` has seen the
                sentence and `words` have not, what the words are to each other is the trees' to
                tell.
            forbidden: (B, n, n + 1) bool, the arcs that no latent tree has.
            generator: of the estimator's random numbers.

        Returns:
            The posterior, and vectors (T, hidden); `posterior.expect(vectors)` is (B, hidden).
        """
        batch, n = x.shape[:2]
        estimator = self._estimator_for(heads, x, lengths)
        unread = x.new_zeros(()).expand(batch, n, n + 1)
        scores = unread if self.scorer is None else self.noise(self.scorer(x))
        if forbidden is not None and self.scorer is not None:
            scores = scores.masked_fill(forbidden, -torch.inf)
        posterior = estimator(scores, self.structure, lengths, generator=generator)
        return posterior, self.composer(x if words is None else words, posterior.forest())

    def _estimator_for(self, heads: Tensor | None, x: Tensor, lengths: Tensor | None) -> Estimator:
        """The estimator, told of the heads if it is one that takes them."""
        if not isinstance(self.estimator, Given):
            if heads is not None:
                raise ValueError(f"the estimator {self.estimator} takes no heads")
            return self.estimator
        if heads is None:
            if self.estimator.structures is None:
                raise ValueError("the estimator Given() needs heads")
            return self.estimator
        batch, n = x.shape[:2]
        if heads.shape != (batch, n) or heads.dtype != torch.int64:
            raise ValueError(
                f"heads: expected int64 of shape {(batch, n)} for word vectors of shape "
                f"{tuple(x.shape)}, got {heads.dtype} of shape {tuple(heads.shape)}"
            )
        words = torch.arange(n, device=x.device)
        inside = words < check_lengths(lengths, batch, n, x.device)[:, None]
        return replace(self.estimator, structures=torch.where(inside, heads.to(x.device), -1))

    def extra_repr(self) -> str:
        return f"{self.structure}, {self.estimator}"
