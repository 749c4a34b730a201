"""The product of two posteriors: all pairs of their structures."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sparsewood._internal.lazy import CopiedWithGraph, lazy
from sparsewood._internal.numbers import counted
from sparsewood._internal.support import expectation, instances


@dataclass(frozen=True, eq=False, repr=False)
class PairPosterior(CopiedWithGraph):
    """A distribution over pairs of independent structures, for each instance of a batch.

    The pairs of all instances are stored flat, P in total, ordered by instance. An instance with
    supports of k and l structures has k * l pairs; the right index varies fastest. Returned by
    `Posterior.product`.

    Attributes:
        left: (P,) int64, index into the support of the left posterior.
        right: (P,) int64, index into the support of the right posterior.
        weights: (P,) probabilities, the products of both weights; differentiable.
        sizes: (*batch,) int64, number of pairs of each instance.
    """

    left: Tensor
    right: Tensor
    weights: Tensor
    sizes: Tensor

    @lazy
    def instance(self) -> Tensor:
        """(P,) int64: the instance of each pair in the flattened batch, in increasing order."""
        return instances(self.sizes, self.left.shape[0])

    def expect(self, values: Tensor | Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """The expectation of `values` over the pairs, per instance.

        Args:
            values: (P, ...), one entry per pair; or a function `fn(left, right)` of the two index
                tensors that returns such a tensor.

        Returns:
            (*batch, ...), differentiable with respect to the values and both posteriors.
        """
        table = values if isinstance(values, Tensor) else values(self.left, self.right)
        return expectation(table, self.weights, self.instance, self.sizes.shape)

    def __len__(self) -> int:
        return self.sizes.numel()

    def __repr__(self) -> str:
        return f"PairPosterior({counted(len(self), 'instance')}, {counted(len(self.left), 'pair')})"


def pair_up(
    left_weights: Tensor, left_sizes: Tensor, right_weights: Tensor, right_sizes: Tensor
) -> PairPosterior:
    """All pairs within each instance, given the weights (T,) and sizes (*batch,) of both sides."""
    sizes = left_sizes * right_sizes
    left_sizes, right_sizes = left_sizes.flatten(), right_sizes.flatten()
    # Each left structure is paired with all right structures of its instance.
    count = left_weights.shape[0]  # len() would be a constant in a graph
    meets = right_sizes.repeat_interleave(left_sizes, output_size=count)
    left = torch.arange(count, device=meets.device).repeat_interleave(meets)
    pairs = left.shape[0]
    within = torch.arange(pairs, device=meets.device) - (meets.cumsum(0) - meets)[left]
    starts = right_sizes.cumsum(0) - right_sizes
    right = starts[instances(sizes, pairs)] + within
    return PairPosterior(left, right, left_weights[left] * right_weights[right], sizes)
