"""Dependency trees: every word has one head, another word or the root."""

from dataclasses import dataclass
from math import comb

import torch
from torch import Tensor

from spinney import _native
from spinney._threads import get_num_threads
from spinney.structures.base import Structure

_ENUMERATE_MAX = 6  # (n + 1)**n candidate head sequences are looked at


@dataclass(frozen=True)
class DependencyTrees(Structure):
    """Dependency trees over sentences of `n` words.

    The parts are arcs: `scores[b, i, j]`, shape (B, n, n + 1), scores the arc from head `j` to word
    `i + 1`; head 0 is the root, head `j` is word `j`. A tree is its `heads`, (n,) int64 with values
    0..n; the padding words of a shorter sentence hold -1. The arc from a word to itself is never
    read.

    The MAP oracle is the maximum spanning arborescence (Tarjan 1977; Gabow et al. 1986) in O(n^2),
    or the algorithm of Eisner (1996) in O(n^3) when projective.

    Args:
        projective: only trees without crossing arcs, the root standing left of the first word.
        single_root: only trees in which exactly one word has the root as its head.
    """

    projective: bool = False
    single_root: bool = False

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        self.validate(scores, lengths)
        batch, n, _ = scores.shape
        table = scores.detach().to("cpu", torch.float64).contiguous()
        sizes = torch.full((batch,), n) if lengths is None else lengths.to("cpu", torch.int64)
        heads = torch.full((batch, n), -1)
        _native.argmax_trees(
            table, sizes.contiguous(), heads, self.projective, self.single_root, get_num_threads()
        )
        return heads.to(scores.device)

    def indicator(self, structures: Tensor) -> Tensor:
        heads = torch.arange(structures.shape[-1] + 1, device=structures.device)
        return (structures.unsqueeze(-1) == heads).to(torch.float64)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        shape = tuple(scores.shape)
        if scores.ndim != 3 or shape[2] != shape[1] + 1 or shape[1] == 0:
            raise ValueError(
                f"arc scores: expected (B, n, n + 1) with n >= 1 words, got shape {shape}"
            )
        if not scores.is_floating_point():
            raise ValueError(f"arc scores: expected a floating dtype, got {scores.dtype}")
        if lengths is None:
            return
        if lengths.shape != shape[:1]:
            raise ValueError(
                f"lengths: expected shape ({shape[0]},) for scores of shape {shape}, "
                f"got {tuple(lengths.shape)}"
            )
        if torch.compiler.is_compiling():
            return  # a graph cannot branch on values; the native oracle and solver check them
        for b, length in enumerate(lengths.tolist()):
            if not 1 <= length <= shape[1]:
                raise ValueError(
                    f"lengths[{b}] is {length}: expected 1 to {shape[1]} words "
                    f"for scores of shape {shape}"
                )

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        batch, n, _ = scores.shape
        dependents = torch.arange(1, n + 1, device=scores.device)[:, None]
        heads = torch.arange(n + 1, device=scores.device)
        others = (dependents != heads).expand(batch, n, n + 1)
        if lengths is None:
            return others
        limit = lengths.to(scores.device)[:, None, None]
        return others & (dependents <= limit) & (heads <= limit)

    def contains(self, structures: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Which of (T, n) heads are trees of this family over the first `lengths` words: (T,)."""
        count, n = structures.shape
        words = torch.arange(1, n + 1, device=structures.device)
        if lengths is None:
            limit = structures.new_full((count, 1), n)
        else:
            limit = lengths.to(structures)[:, None]
        inside = words <= limit
        in_range = (structures >= 0) & (structures <= limit) & (structures != words)
        legal = torch.where(inside, in_range, structures == -1).all(-1)
        heads = torch.where(legal[:, None] & inside, structures, 0)
        legal &= _reaches_root(heads)
        if self.single_root:
            legal &= ((heads == 0) & inside).sum(-1) == 1
        if self.projective:
            legal &= ~_has_crossing(heads, inside)
        return legal

    def count(self, n: int) -> int:
        """The number of trees over `n` words, in closed form.

        Cayley: (n + 1)**(n - 1), single root n**(n - 1); projective C(3n, n) / (2n + 1), single
        root C(3n - 2, n - 1) / n.
        """
        if n < 1:
            raise ValueError(f"a sentence has at least one word, got n = {n}")
        if self.projective:
            if self.single_root:
                return comb(3 * n - 2, n - 1) // n
            return comb(3 * n, n) // (2 * n + 1)
        return n ** (n - 1) if self.single_root else (n + 1) ** (n - 1)

    def enumerate(self, n: int) -> Tensor:
        """Every tree over `n` words, (count(n), n) int64 in lexicographic order; n at most 6."""
        if not 1 <= n <= _ENUMERATE_MAX:
            raise ValueError(f"enumerate lists trees of 1 to {_ENUMERATE_MAX} words, got n = {n}")
        heads = torch.cartesian_prod(*[torch.arange(n + 1)] * n).reshape(-1, n)
        return heads[self.contains(heads)]

    @property
    def native(self) -> tuple[str, bool, bool]:
        return ("trees", self.projective, self.single_root)


def _reaches_root(heads: Tensor) -> Tensor:
    """Whether every word comes to the root by following heads: (T, n) -> (T,). No cycles then."""
    ancestor = torch.nn.functional.pad(heads, (1, 0))
    for _ in range(heads.shape[-1].bit_length()):  # each round doubles the steps taken
        ancestor = ancestor.gather(-1, ancestor)
    return (ancestor == 0).all(-1)


def _has_crossing(heads: Tensor, inside: Tensor) -> Tensor:
    """Whether two arcs cross, drawn above the sentence with the root at position 0: (T,)."""
    words = torch.arange(1, heads.shape[-1] + 1, device=heads.device).expand_as(heads)
    left, right = torch.minimum(heads, words), torch.maximum(heads, words)
    starts_inside = (left[:, :, None] < left[:, None]) & (left[:, None] < right[:, :, None])
    crossing = starts_inside & (right[:, :, None] < right[:, None])
    return (crossing & inside[:, :, None] & inside[:, None]).any(-1).any(-1)
