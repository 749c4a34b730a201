"""Trees that are the same for every sentence of a length: baselines for latent ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from sparsewood._lengths import lengths_or_full
from sparsewood.structures.base import Structure
from sparsewood.structures.dependency import DependencyTrees
from sparsewood.structures.recursions import Shifted, Total
from sparsewood.structures.recursions.shifted import or_zero

Branching = Literal["flat", "left_to_right", "right_to_left"]

# (words (n,) = 1..n, lengths (B, 1)) -> heads (B, n), whatever beyond the lengths
_HEADS: dict[Branching, Callable[[Tensor, Tensor], Tensor]] = {
    "flat": lambda words, lengths: torch.zeros_like(words).expand(len(lengths), -1),
    "left_to_right": lambda words, lengths: torch.where(words < lengths, words + 1, 0),
    "right_to_left": lambda words, lengths: (words - 1).expand(len(lengths), -1),
}


def branching_heads(kind: Branching, lengths: Tensor, n: int) -> Tensor:
    """The tree of this kind for each sentence as heads (B, n), -1 beyond `lengths` (B,)."""
    words = torch.arange(1, n + 1, device=lengths.device)
    heads = _HEADS[kind](words, lengths[:, None])
    return torch.where(words <= lengths[:, None], heads, -1)


@dataclass(frozen=True)
class BranchingTrees(Structure):
    """The one dependency tree of a kind, whatever the scores.

    Parts and trees are those of `DependencyTrees`: arc scores (B, n, n + 1), heads (n,).

    Args:
        kind: "flat": all words hang from the root. "left_to_right": the chain that is read so; the
            head of each word is the next one, and the last word hangs from the root.
            "right_to_left": its mirror image, the head of each word is the one before, and the
            first word hangs from the root.
    """

    kind: Branching

    def __post_init__(self) -> None:
        if self.kind not in _HEADS:
            names = ", ".join(get_args(Branching))
            raise ValueError(f"kind: expected one of {names}; got {self.kind!r}")

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        self.validate(scores, lengths)
        heads = self._heads(scores, lengths)
        chosen = scores.gather(2, heads.clamp(min=0)[..., None])[..., 0]
        forbidden = ((chosen == -torch.inf) & (heads >= 0)).any(-1)
        if forbidden.any():
            raise ValueError(
                f"instance {int(forbidden.nonzero()[0])} has no structure left: its one tree uses "
                f"an arc that is forbidden (-inf) (scores of shape {tuple(scores.shape)})"
            )
        return heads

    def event_shape(self, parts: tuple[int, ...]) -> tuple[int, ...]:
        return parts[:1]

    def indicator(self, structures: Tensor, parts: tuple[int, ...] | None = None) -> Tensor:
        return DependencyTrees().indicator(structures, parts)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        DependencyTrees().validate(scores, lengths)

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        return DependencyTrees().reads(scores, lengths)

    def contains(self, structures: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Which of (T, n) heads are the tree of this kind over the first `lengths` words: (T,)."""
        return (structures == self._heads(structures, lengths)).all(-1)

    def decode(self, parts: Tensor, lengths: Tensor | None = None) -> Tensor:
        return DependencyTrees().decode(parts, lengths)

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        return (scores * self.indicator(self._heads(scores, lengths))).flatten(1).sum(-1)

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        used = self.indicator(self._heads(scores, lengths))
        arcs = or_zero((scores.detach() * used).sum(-1, keepdim=True))
        return Shifted(scores - arcs, arcs.flatten(1).sum(-1))

    def count(self, n: int) -> int:
        """One, whatever `n`."""
        return len(self.enumerate(n))

    def enumerate(self, n: int) -> Tensor:
        """The tree over `n` words: (1, n) int64."""
        if n < 1:
            raise ValueError(f"a sentence has at least one word, got n = {n}")
        return branching_heads(self.kind, torch.tensor([n]), n)

    def _heads(self, table: Tensor, lengths: Tensor | None) -> Tensor:
        """(N, n) heads for the instances of a table (N, n, ...)."""
        return branching_heads(self.kind, lengths_or_full(lengths, table), table.shape[1])
