"""From word vectors to one vector per tree, the trees being latent or fixed."""

from typing import Literal

import torch
from torch import Tensor, nn

from sparsewood.inference.sparsemap import sparsemap
from sparsewood.nn._check import check_lengths
from sparsewood.posterior import SparsePosterior
from sparsewood.structures.base import Structure
from sparsewood.structures.branching_trees import Branching, branching_heads
from sparsewood.structures.dependency import DependencyTrees

Strategy = Literal["latent", "left_to_right", "right_to_left", "flat", "given"]

# What people call them, in the order of the paper's tables.
STRATEGIES: dict[str, str] = {
    "left_to_right": "left to right",
    "right_to_left": "right to left",
    "flat": "flat",
    "given": "off-line",
    "latent": "latent",
}

_FIXED: dict[str, Branching] = {"left_to_right": "left", "right_to_left": "right", "flat": "flat"}


class LatentTreeEncoder(nn.Module):
    """Trees for each sentence, and the composer's vector for each tree.

    The strategies differ in where the trees come from and in nothing else:

        latent         SparseMAP over the scores of `scorer` (Niculae, Martins & Cardie 2018,
                       "Towards dynamic computation graphs via sparse latent structure")
        left_to_right  the chain that is read from left to right: the head of each word is the next
                       one, the last word hangs from the root
        right_to_left  its mirror image: the first word hangs from the root
        flat           all words hang from the root
        given          the heads that the caller gives, a parser's for example

    The fixed ones give each sentence one tree of weight 1, as a `SparsePosterior` like the other.
    The probability of an output is `posterior.expect(...)` in every case.

    Args:
        scorer: (B, n, d) -> arc scores (B, n, n + 1). The fixed strategies leave it out of the
            module; None does for them.
        composer: `composer(x, forest)` -> (T, hidden) root states: `ChildSumTreeLSTM`, `TreeGRU`.
        structure: the family of trees that the latent strategy chooses from.
        strategy: one of the five.
        temperature: of SparseMAP; may be set to another value at any time.
        max_active: the most trees SparseMAP keeps for a sentence.
    """

    def __init__(
        self,
        scorer: nn.Module | None,
        composer: nn.Module,
        structure: Structure | None = None,
        *,
        strategy: Strategy = "latent",
        temperature: float = 1.0,
        max_active: int | None = None,
    ) -> None:
        super().__init__()
        if strategy not in ("latent", "given", *_FIXED):
            names = ", ".join(["latent", *_FIXED, "given"])
            raise ValueError(f"strategy: expected one of {names}; got {strategy!r}")
        if scorer is None and strategy == "latent":
            raise ValueError("the strategy 'latent' needs a scorer")
        self.scorer = scorer if strategy == "latent" else None
        self.composer = composer
        self.structure = DependencyTrees() if structure is None else structure
        self.strategy: Strategy = strategy
        self.temperature = temperature
        self.max_active = max_active

    def forward(
        self, x: Tensor, lengths: Tensor | None = None, heads: Tensor | None = None
    ) -> tuple[SparsePosterior, Tensor]:
        """The posterior over trees, and the vector of each tree of its support.

        Args:
            x: (B, n, d) word vectors.
            lengths: (B,) words of each sentence. Default: all have n.
            heads: (B, n) the trees of the strategy "given", and of no other; what lies beyond
                `lengths` may be anything.

        Returns:
            The posterior, and vectors (T, hidden); `posterior.expect(vectors)` is (B, hidden).
        """
        if (heads is None) == (self.strategy == "given"):
            need = "needs heads" if heads is None else "takes no heads"
            raise ValueError(f"the strategy {self.strategy!r} {need}")
        posterior = self._infer(x, lengths, heads)
        return posterior, self.composer(x, posterior.forest())

    def _infer(self, x: Tensor, lengths: Tensor | None, heads: Tensor | None) -> SparsePosterior:
        if self.scorer is not None:
            return sparsemap(
                self.scorer(x),
                self.structure,
                lengths=lengths,
                temperature=self.temperature,
                max_active=self.max_active,
            )
        batch, n = x.shape[:2]
        lengths = check_lengths(lengths, batch, n, x.device)
        if heads is None:
            return _certain(branching_heads(_FIXED[self.strategy], lengths, n), lengths, x.dtype)
        if heads.shape != (batch, n) or heads.dtype != torch.int64:
            raise ValueError(
                f"heads: expected int64 of shape {(batch, n)} for word vectors of shape "
                f"{tuple(x.shape)}, got {heads.dtype} of shape {tuple(heads.shape)}"
            )
        inside = torch.arange(n, device=x.device) < lengths[:, None]
        return _certain(torch.where(inside, heads.to(x.device), -1), lengths, x.dtype)

    def extra_repr(self) -> str:
        if self.strategy != "latent":
            return f"strategy={self.strategy!r}"
        cap = "" if self.max_active is None else f", max_active={self.max_active}"
        return f"{self.structure}, temperature={self.temperature}{cap}"


def _certain(heads: Tensor, lengths: Tensor, dtype: torch.dtype) -> SparsePosterior:
    """The posterior that gives each sentence the one tree of (B, n) heads."""
    trees = DependencyTrees()
    one = torch.ones_like(lengths)
    return SparsePosterior(
        structure=trees,
        structures=heads,
        weights=one.to(dtype),
        sizes=one,
        marginals=trees.indicator(heads).to(dtype),
        gap=torch.zeros_like(one, dtype=torch.float64),
        converged=one.bool(),
        lengths=lengths,
    )
