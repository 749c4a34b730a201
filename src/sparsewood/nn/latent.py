"""From word vectors to one vector per tree, for latent or fixed trees."""

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
    """Finds trees for each sentence and composes one vector per tree.

    The estimator determines the trees: latent trees with `SparseMAP` (Niculae, Martins & Cardie
    2018, "Towards dynamic computation graphs via sparse latent structure") or `TopK`, a parser's
    trees with `Given()`, a baseline with `Fixed("flat")`. With all of them, the probability of an
    output is `posterior.expect(...)`. In evaluation, `estimator.at_test()` is used instead.

    Args:
        scorer: (B, n, d) -> arc scores (B, n, n + 1). Not registered, and may be None, if the
            estimator does not read scores.
        composer: `composer.read(x, posterior)` -> (T, hidden) root states: `ChildSumTreeLSTM`,
            `TreeGRU`, `OrderedComposer`, `TreeMessages`. A composer without `read` is called as
            `composer(x, posterior.forest())`. It must have `reads_parts` if the estimator's
            gradient goes through parts, and `reads_soft` if the estimator gives no trees.
        structure: the family of trees. Default: `DependencyTrees()`.
        estimator: the estimator of trees; may be changed at any time. Its `memory`, if any, is a
            submodule.
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
            raise ValueError(f"the estimator {estimator} needs a scorer, got None")
        self.scorer = scorer if estimator.reads_scores else None
        self.noise = nn.Identity() if noise is None else noise
        self.composer = composer
        self.structure = DependencyTrees() if structure is None else structure
        self.estimator = estimator

    @property
    def estimator(self) -> Estimator:
        """The estimator of trees."""
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
            lengths: (B,) number of words of each sentence. Default: n.
            heads: (B, n) trees, only for the estimator `Given()`; any values beyond `lengths`.
            words: (B, n, e) word vectors for the composer. Default: `x`. If `x` is contextual and
                `words` are not, the composer learns relations between words only from the trees.
            forbidden: (B, n, n + 1) bool, arcs that latent trees must not use.
            generator: random number generator for the estimator.

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
        """The posterior over trees, without composing; takes the arguments of the call."""
        batch, n = x.shape[:2]
        estimator = self._estimator_for(heads, x, lengths)
        unread = x.new_zeros(()).expand(batch, n, n + 1)
        scores = unread if self.scorer is None else self.scores(x, forbidden)
        return estimator(scores, self.structure, lengths, generator=generator)

    def scores(self, x: Tensor, forbidden: Tensor | None = None) -> Tensor:
        """(B, n, n + 1) arc scores passed to the estimator, -inf where forbidden.

        Takes the arguments of the call; requires a scorer.
        """
        assert self.scorer is not None, f"the estimator {self.estimator} reads no scores"
        scores = self.noise(self.scorer(x))
        return scores if forbidden is None else scores.masked_fill(forbidden, -torch.inf)

    def _estimator_for(self, heads: Tensor | None, x: Tensor, lengths: Tensor | None) -> Estimator:
        """The estimator for the current mode, with `heads` if it is `Given()`."""
        estimator = self.estimator if self.training else self.estimator.at_test()
        _check_fit(self.composer, estimator)
        if not isinstance(estimator, Given):
            if heads is not None:
                raise ValueError(f"heads: expected None for the estimator {estimator}")
            return estimator
        if heads is None:
            if estimator.structures is None:
                raise ValueError("heads: expected trees for the estimator Given(), got None")
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
    """Raise ValueError unless the composer can read the posterior and pass its gradient on."""
    name = type(composer).__name__
    if not estimator.gives_structures and not getattr(composer, "reads_soft", False):
        raise ValueError(
            f"the estimator {estimator} gives soft parts instead of trees, which {name} cannot "
            "read; use TreeMessages"
        )
    if estimator.gradient_through == "parts" and not getattr(composer, "reads_parts", False):
        raise ValueError(
            f"the gradient of the estimator {estimator} goes through the parts of trees, in which "
            f"{name} is not differentiable; use ChildSumTreeLSTM, TreeGRU or TreeMessages"
        )
