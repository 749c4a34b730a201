"""The sparse distribution that inference returns: structures, their weights and a certificate."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood import _display
from sparsewood._lazy import CopiedWithGraph, lazy
from sparsewood._numbers import check_dense, check_whole
from sparsewood._support import expectation, instances, sum_by_instance
from sparsewood.forest import Forest
from sparsewood.pairs import PairPosterior, pair_up
from sparsewood.structures._bipartite import Bipartite
from sparsewood.structures.base import Structure

_SHOWN = 5  # structures listed in the repr of one instance


class TopK(NamedTuple):
    """The heaviest structures of each instance, in falling order of weight."""

    weights: Tensor
    structures: Tensor


@dataclass(frozen=True, eq=False, repr=False)
class SparsePosterior(CopiedWithGraph):
    """A distribution over a few structures for each of `B` instances.

    The support of all instances is stored flat: `T` structures in total, those of instance 0 first.
    `len(post)` is `B`; `post[i]` is the posterior of one instance; iterating yields those.

    Attributes:
        structure: the family the structures belong to.
        structures: (T, *event) int64, the support.
        weights: (T,) their probabilities, differentiable with respect to the scores.
        sizes: (B,) int64, how many structures each instance keeps.
        marginals: (B, *parts), the probability of each part; differentiable.
        gap: (B,) float64, the duality gap: the objective is within `gap` of its optimum.
        converged: (B,) bool, whether the gap certifies the requested accuracy.
        lengths: int64, the size of each instance, (B,) or as the family has it; None when all have
            full size.
    """

    structure: Structure
    structures: Tensor
    weights: Tensor
    sizes: Tensor
    marginals: Tensor
    gap: Tensor
    converged: Tensor
    lengths: Tensor | None = None

    @lazy
    def instance(self) -> Tensor:
        """(T,) int64: the batch element each structure belongs to, in rising order."""
        return instances(self.sizes, self.structures.shape[0])  # len() would fix it in a graph

    @lazy
    def mode(self) -> Tensor:
        """(B, *event): the heaviest structure of each instance."""
        return self.structures[self._ranking[self._starts]]

    def expect(self, values: Tensor | Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """The expectation of `values` under the posterior, per instance.

        Args:
            values: (T, ...), one entry for each of `structures`; or a function
                `fn(structures, instance)` that returns such a tensor.

        Returns:
            (B, ...) in the dtype of `values` if that is floating or complex, else of `weights`.
            Differentiable with respect to both the values and the scores.
        """
        table = values if isinstance(values, Tensor) else values(self.structures, self.instance)
        return expectation(table, self.weights, self.instance, len(self))

    def entropy(self) -> Tensor:
        """(B,) the Shannon entropy of each instance's weights, in nats; differentiable."""
        positive = self.weights > 0  # a weight may underflow to 0 in a 16-bit dtype
        weights = torch.where(positive, self.weights, 1)
        return self._total(-weights * weights.log())

    def log_prob(self, structures: Tensor) -> Tensor:
        """The log-probability of one structure per instance: (B, *event) -> (B,).

        -inf outside the support. Padding must be encoded as the structure itself encodes it.
        """
        expected = (len(self), *self.structures.shape[1:])
        check_dense("log_prob", structures)
        if structures.shape != expected:
            raise ValueError(f"log_prob: expected {expected}, got {tuple(structures.shape)}")
        same = self.structures == structures.to(self.structures.device)[self.instance]
        same = same.unsqueeze(-1).flatten(1).all(-1)  # an event may have no dimension
        weights = self._total(self.weights * same)
        inside = weights > 0
        return torch.where(inside, torch.where(inside, weights, 1).log(), -torch.inf)

    def sample(self, k: int = 1, *, generator: torch.Generator | None = None) -> Tensor:
        """`k` independent structures of each instance: (k, B, *event)."""
        k = check_whole("sample: k", k)
        weights = self.weights.detach().double()
        share = weights / self._total(weights)[self.instance]
        # The running total of all shares: instance b covers the interval from b to b + 1.
        draw = torch.rand(k, len(self), dtype=share.dtype, device=share.device, generator=generator)
        draw += torch.arange(len(self), device=share.device)
        index = torch.searchsorted(share.cumsum(0), draw, right=True)
        index = torch.maximum(index, self._starts)  # rounding at the border of two instances
        return self.structures[torch.minimum(index, self._starts + self.sizes - 1)]

    def topk(self, k: int) -> TopK:
        """The `k` heaviest structures: weights (B, k) and structures (B, k, *event).

        Where the support is smaller, the rest has weight 0 and repeats the mode.
        """
        k = check_whole("topk: k", k)
        rank = torch.arange(k, device=self.sizes.device)
        kept = rank < self.sizes[:, None]
        index = self._ranking[self._starts[:, None] + torch.where(kept, rank, 0)]
        return TopK(self.weights[index] * kept, self.structures[index])

    def forest(self) -> Forest:
        """The trees of the support as one shared graph, for `structures` that are heads (T, n)."""
        n = self.structures.shape[1] if self.structures.ndim == 2 else 0
        if self.marginals.shape[1:] != (n, n + 1) or isinstance(self.structure, Bipartite):
            raise ValueError(
                f"forest: expected trees as heads (T, n) for scores (B, n, n + 1), got structures "
                f"of shape {tuple(self.structures.shape)} of {self.structure} for scores of shape "
                f"{tuple(self.marginals.shape)}"
            )
        lengths = self.lengths
        if lengths is None:
            lengths = torch.full_like(self.sizes, self.structures.shape[1])
        return Forest.from_heads(self.structures, lengths, self.instance)

    def product(self, other: "SparsePosterior") -> PairPosterior:
        """All pairs of a structure here and one of `other`, instance by instance, as independent.

        For inputs of two parts with a latent structure each, a premise and a hypothesis say:

            pairs = premises.product(hypotheses)
            p = pairs.expect(lambda left, right: classify(u[left], v[right]))

        with `u` and `v` holding a vector for each structure of the two supports.
        """
        if len(self) != len(other):
            raise ValueError(
                f"product: expected posteriors over as many instances, got {len(self)} "
                f"and {len(other)}"
            )
        return pair_up(self.weights, self.sizes, other.weights, other.sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, i: int) -> "SparsePosterior":
        """The posterior of instance `i`, a batch of one."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"instance {i} of a posterior over {len(self)} instances")
        i %= len(self)
        start, size = int(self._starts[i]), int(self.sizes[i])
        rows, one = slice(start, start + size), slice(i, i + 1)
        return SparsePosterior(
            self.structure,
            self.structures[rows],
            self.weights[rows],
            self.sizes[one],
            self.marginals[one],
            self.gap[one],
            self.converged[one],
            None if self.lengths is None else self.lengths[one],
        )

    def __iter__(self) -> Iterator["SparsePosterior"]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        if len(self) == 1:
            return self._describe_one()
        head = f"SparsePosterior({self.structure}, {len(self)} instances"
        if len(self) == 0:
            return head + ")"
        low, high = int(self.sizes.min()), int(self.sizes.max())
        kept = f"{low}" if low == high else f"{low} to {high}"
        return (
            f"{head}, {kept} structures each, gap <= {float(self.gap.max()):.1e}, "
            f"{int(self.converged.sum())} converged)"
        )

    def _repr_html_(self) -> str | None:
        """One instance shows itself in notebooks, each family by its own pictures."""
        return _display.html(self) if len(self) == 1 else None

    def _describe_one(self) -> str:
        size = int(self.sizes[0])
        best = self.topk(min(size, _SHOWN))
        lines = [
            f"SparsePosterior({self.structure}, {size} structure{'s' * (size != 1)}, "
            f"gap {float(self.gap[0]):.1e}, {'' if self.converged[0] else 'not '}converged)"
        ]
        for weight, structure in zip(best.weights[0].tolist(), best.structures[0], strict=True):
            lines.append(f"  {weight:.4f}  {structure.tolist()}")
        if size > _SHOWN:
            lines.append(f"  ... {size - _SHOWN} more")
        return "\n".join(lines)

    @lazy
    def _starts(self) -> Tensor:
        """(B,) int64: where each instance's structures begin."""
        return self.sizes.cumsum(0) - self.sizes

    @lazy
    def _ranking(self) -> Tensor:
        """(T,) int64: the support by instance, then by falling weight; ties keep their order."""
        by_weight = self.weights.detach().argsort(descending=True, stable=True)
        return by_weight[self.instance[by_weight].argsort(stable=True)]

    def _total(self, values: Tensor) -> Tensor:
        """Sum over each instance's structures: (T, ...) -> (B, ...)."""
        return sum_by_instance(values, self.instance, len(self))
