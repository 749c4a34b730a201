"""From word vectors to one vector per tree, the trees being latent or fixed."""

from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn

from sparsewood.estimators.base import Estimator, check_estimator
from sparsewood.estimators.given import Given
from sparsewood.estimators.sparse_map import SparseMAP
from sparsewood.nn._check import check_lengths
from sparsewood.nn._composer import TreeComposer
from sparsewood.posterior import Posterior
from sparsewood.structures.base import Structure
from sparsewood.structures.dependency import DependencyTrees


class LatentTreeEncoder(nn.Module):
    """Trees for each sentence, and the composer's vector for each tree.

    Where the trees come from is the estimator's business, and the probability of an output is
    `posterior.expect(...)` for all of them: latent trees by `SparseMAP` (Niculae, Martins & Cardie
    2018, "Towards dynamic computation graphs via sparse latent structure") or `TopK`, the trees of
    a parser by `Given()`, a baseline by `Fixed("flat")`. In training it is the estimator that is
    asked, out of it what `estimator.at_test()` gives.

    Args:
        scorer: (B, n, d) -> arc scores (B, n, n + 1). It is left out of the module where the
            estimator reads no scores; None does for such.
        composer: `composer.read(x, posterior)` -> (T, hidden) root states: `ChildSumTreeLSTM`,
            `TreeGRU`, `OrderedComposer`, `TreeMessages`. One without `read` is called as
            `composer(x, posterior.forest())`. An estimator whose gradient goes by the parts of
            trees needs one with `reads_parts`, one that gives no trees needs `reads_soft`.
        structure: the family of trees. Default: `DependencyTrees()`.
        estimator: of trees; may be set to another value at any time. What it remembers, its
            `memory`, is a part of the module.
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
        _check_fit(composer, estimator)
        if scorer is None and estimator.reads_scores:
            raise ValueError(f"the estimator {estimator} needs a scorer")
        self.scorer = scorer if estimator.reads_scores else None
        self.noise = nn.Identity() if noise is None else noise
        self.composer = composer
        self.structure = DependencyTrees() if structure is None else structure
        self.estimator = estimator

    @property
    def estimator(self) -> Estimator:
        """Of trees."""
        return self._estimator

    @estimator.setter
    def estimator(self, value: Estimator) -> None:
        self._estimator = value
        self.memory: nn.Module | None = getattr(value, "memory", None)

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
        posterior = self.posterior(x, lengths, heads, forbidden=forbidden, generator=generator)
        x = x if words is None else words
        if hasattr(self.composer, "read"):
            return posterior, cast(TreeComposer, self.composer).read(x, posterior)
        return posterior, self.composer(x, posterior.forest())

    def posterior(
        self,
        x: Tensor,
        lengths: Tensor | None = None,
        heads: Tensor | None = None,
        *,
        forbidden: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Posterior:
        """That over trees alone, nothing being composed; the arguments are those of the call."""
        batch, n = x.shape[:2]
        estimator = self._estimator_for(heads, x, lengths)
        unread = x.new_zeros(()).expand(batch, n, n + 1)
        scores = unread if self.scorer is None else self.scores(x, forbidden)
        return estimator(scores, self.structure, lengths, generator=generator)

    def scores(self, x: Tensor, forbidden: Tensor | None = None) -> Tensor:
        """(B, n, n + 1) the arc scores that the estimator is asked with, -inf where forbidden.

        The arguments are those of the call; there must be a scorer.
        """
        assert self.scorer is not None, f"the estimator {self.estimator} reads no scores"
        scores = self.noise(self.scorer(x))
        return scores if forbidden is None else scores.masked_fill(forbidden, -torch.inf)

    def _estimator_for(self, heads: Tensor | None, x: Tensor, lengths: Tensor | None) -> Estimator:
        """That of now, training or not, told of the heads if it is one that takes them."""
        estimator = self.estimator if self.training else self.estimator.at_test()
        _check_fit(self.composer, estimator)
        if not isinstance(estimator, Given):
            if heads is not None:
                raise ValueError(f"the estimator {estimator} takes no heads")
            return estimator
        if heads is None:
            if estimator.structures is None:
                raise ValueError("the estimator Given() needs heads")
            return estimator
        batch, n = x.shape[:2]
        if heads.shape != (batch, n) or heads.dtype != torch.int64:
            raise ValueError(
                f"heads: expected int64 of shape {(batch, n)} for word vectors of shape "
                f"{tuple(x.shape)}, got {heads.dtype} of shape {tuple(heads.shape)}"
            )
        words = torch.arange(n, device=x.device)
        inside = words < check_lengths(lengths, batch, n, x.device)[:, None]
        return replace(estimator, structures=torch.where(inside, heads.to(x.device), -1))

    def extra_repr(self) -> str:
        return f"{self.structure}, {self.estimator}"


def _check_fit(composer: nn.Module, estimator: Estimator) -> None:
    """ValueError if a composer cannot read what an estimator gives, or pass its gradient on."""
    name = type(composer).__name__
    if not estimator.gives_structures and not getattr(composer, "reads_soft", False):
        raise ValueError(
            f"the estimator {estimator} gives soft parts and no trees, which {name} does not read; "
            "TreeMessages does"
        )
    if estimator.gradient_through == "parts" and not getattr(composer, "reads_parts", False):
        raise ValueError(
            f"the gradient of the estimator {estimator} goes by the parts of trees, to which "
            f"{name} passes none on; ChildSumTreeLSTM, TreeGRU and TreeMessages do"
        )
