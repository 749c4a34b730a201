"""The product of two posteriors: every pair of their structures."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sparsewood._internal.lazy import CopiedWithGraph, lazy
from sparsewood._internal.numbers import counted
from sparsewood._internal.support import expectation, instances


@dataclass(frozen=True, eq=False, repr=False)
class PairPosterior(CopiedWithGraph):
    """A distribution over pairs of structures for each instance of a batch, the two independent.

    The pairs of all instances are stored flat, P in total, those of instance 0 first; of an
    instance with supports of k and l structures there are k * l, the right index running fastest.
    Made by `Posterior.product`.

    Attributes:
        left: (P,) int64, the pair's structure as an index into the support of the left posterior.
        right: (P,) int64, the same of the right posterior.
        weights: (P,) their probabilities, `left.weights * right.weights`; differentiable.
        sizes: (*batch,) int64, how many pairs each instance has.
    """

    left: Tensor
    right: Tensor
    weights: Tensor
    sizes: Tensor

    @lazy
    def instance(self) -> Tensor:
        """(P,) int64: the instance of the flattened batch each pair belongs to, in rising order."""
        return instances(self.sizes, self.left.shape[0])

    def expect(self, values: Tensor | Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """The expectation of `values` over the pairs, per instance.

        Args:
            values: (P, ...), one entry for each pair; or a function `fn(left, right)` of the two
                index tensors that returns such a tensor.

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
    """All pairs within each instance, from the weights (T,) and sizes (*batch,) of both sides."""
    sizes = left_sizes * right_sizes
    left_sizes, right_sizes = left_sizes.flatten(), right_sizes.flatten()
    # Each structure on the left meets all on the right of its instance.
    count = left_weights.shape[0]  # len() would fix it in a graph
    meets = right_sizes.repeat_interleave(left_sizes, output_size=count)
    left = torch.arange(count, device=meets.device).repeat_interleave(meets)
    pairs = left.shape[0]
    within = torch.arange(pairs, device=meets.device) - (meets.cumsum(0) - meets)[left]
    starts = right_sizes.cumsum(0) - right_sizes
    right = starts[instances(sizes, pairs)] + within
    return PairPosterior(left, right, left_weights[left] * right_weights[right], sizes)
