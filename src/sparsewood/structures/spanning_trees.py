"""Spanning trees of undirected graphs."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood._internal.batch import given_shape
from sparsewood._internal.lengths import lengths_or_full
from sparsewood.structures._one_hot import one_hot
from sparsewood.structures.base import Native, NativeStructure
from sparsewood.structures.dependency import DependencyTrees
from sparsewood.structures.recursions import Shifted, Total
from sparsewood.structures.recursions.shifted import shift_arcs
from sparsewood.structures.recursions.spanning_tree_samples import sample_spanning_trees
from sparsewood.structures.recursions.spanning_trees import spanning_tree_sums, spanning_trees

_VERTICES_MAX = 30_000  # the native solver counts edges in 32 bits


@dataclass(frozen=True)
class SpanningTrees(NativeStructure):
    """Spanning trees of undirected graphs over `n` vertices.

    The parts are edges: `scores[b, i, j]`, shape (B, n, n), scores the edge between vertices
    `i > j`; entries on and above the diagonal are never read. Use -inf for missing edges. A tree,
    rooted at vertex 0, is the parents of vertices 1 to n - 1, (n - 1,) int64; padding holds -1.
    `lengths` is (B,): the number of vertices of each graph.

    The MAP oracle is the algorithm of Prim (1957) in O(n^2). Rooted trees are dependency trees over
    n - 1 words with the same score for an arc and its reverse: sums are determinants by the
    matrix-tree theorem (Kirchhoff 1847). Latent spanning trees learn graphs and clusterings (Paulus
    et al. 2020, "Gradient estimation with stochastic softmax tricks", section 4).

    Example:
        >>> scores = torch.zeros(1, 3, 3)
        >>> scores[0, 2, 0] = scores[0, 2, 1] = 1.0
        >>> sp.SpanningTrees().argmax(scores)  # 0 - 2 - 1
        tensor([[2, 0]])
    """

    parts_ndim = 2

    def event_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (shape[0] - 1,)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        shape = tuple(scores.shape)
        if scores.ndim != 3 or shape[1] != shape[2] or not 2 <= shape[1] <= _VERTICES_MAX:
            raise ValueError(
                f"edge scores: expected (*batch, n, n) with 2 to {_VERTICES_MAX} vertices, "
                f"got shape {given_shape(shape)}"
            )
        self.check_dtype_and_lengths("edge scores", scores, lengths)

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        vertices = torch.arange(scores.shape[1], device=scores.device)
        inside = vertices[:, None] < lengths_or_full(lengths, scores)[:, None, None]
        return inside & (vertices[:, None] > vertices)

    def indicator(self, structures: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
        return self.parts_of(one_hot(structures, structures.shape[-1] + 1))

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (T, n - 1) are parents of a tree over the first `lengths` vertices: (T,)."""
        n = shape[0]
        return DependencyTrees().contains(structures, (n - 1, n), _words(lengths))

    def decode(self, parts: Tensor, lengths: Tensor | None = None) -> Tensor:
        adjacent = (parts + parts.mT) != 0
        reached = torch.zeros_like(adjacent[..., 0])
        reached[:, 0] = True
        parents = torch.full_like(reached, -1, dtype=torch.int64)
        for _ in range(parts.shape[-1] - 1):  # the largest distance from vertex 0
            known = adjacent & reached[:, None]
            new = known.any(-1) & ~reached
            parents = torch.where(new, known.int().argmax(-1), parents)
            reached = reached | new
        return parents[:, 1:]

    def count(self, n: int) -> int:
        """n**(n - 2) (Cayley 1889); 1 for a single vertex."""
        if n < 1:
            raise ValueError(f"expected at least one vertex, got n = {n}")
        return n ** max(n - 2, 0)

    def enumerate(self, n: int) -> Tensor:
        """Every tree over `n` vertices, (count(n), n - 1) int64; n from 2 to 7."""
        if not 2 <= n <= 7:
            raise ValueError(f"enumerate: expected 2 to 7 vertices, got n = {n}")
        return DependencyTrees().enumerate(n - 1)

    # The steps are the arcs of rooted trees, (B, n - 1, n).

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        return spanning_trees(_arcs(scores), _words(lengths), False)

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        return shift_arcs(_arcs(scores), False)

    def sum_steps(self, steps: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        return self.sums(steps, lengths)[0]

    def sums(self, steps: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor | None]:
        return spanning_tree_sums(steps, _words(lengths), False)

    def samples(
        self, steps: Tensor, lengths: Tensor | None, n: int, generator: torch.Generator | None
    ) -> Tensor:
        return sample_spanning_trees(steps, _words(lengths), False, n, generator)

    def steps_of(self, parts: Tensor) -> Tensor:
        return one_hot(self.decode(parts), parts.shape[-1])

    def parts_of(self, steps: Tensor) -> Tensor:
        arcs = pad(steps, (0, 0, 1, 0))
        return (arcs + arcs.mT).tril(-1)

    @property
    def native(self) -> Native:
        return Native("spanning_trees")


def _words(lengths: Tensor | None) -> Tensor | None:
    """The words of the rooted trees: all vertices but the root."""
    return None if lengths is None else lengths - 1


def _arcs(scores: Tensor) -> Tensor:
    """(B, n, n) edges -> (B, n - 1, n) arcs: both directions score the same; no self-loops."""
    vertices = torch.arange(scores.shape[1], device=scores.device)
    return torch.where(vertices[:, None] > vertices, scores, scores.mT)[:, 1:].contiguous()
