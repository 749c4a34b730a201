"""Log-partition function and marginals of segmentations together, by kernels."""

from typing import Any

import torch
from torch import Tensor

from sparsewood._internal.cuda import Kernels
from sparsewood._internal.lengths import lengths_or_full
from sparsewood.structures.recursions.hessian import hessian_product
from sparsewood.structures.recursions.segment_kernels import Tables, hessian, segment_kernels, sums
from sparsewood.structures.recursions.semi_markov import segmentations
from sparsewood.structures.recursions.totals import logsumexp


def segment_sums(
    scores: Tensor, lengths: Tensor | None, longest: int
) -> tuple[Tensor, Tensor] | None:
    """`semi_markov.segmentations` (B,) and the marginals, shaped as `scores` (B, T, K, D + K).

    None: no kernels for these scores.
    """
    kernels = segment_kernels(scores)
    if kernels is None:
        return None
    return _SegmentSums.apply(scores, lengths_or_full(lengths, scores), longest, kernels)


class _SegmentSums(torch.autograd.Function):
    """The marginals, which are the gradient, are an output so that autograd can differentiate them.

    A kernel computes second derivatives; higher ones use the recursion in PyTorch.
    """

    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, lengths: Tensor, longest: int, kernels: Kernels
    ) -> tuple[Tensor, Tensor]:
        log_sums, marginals, tables = sums(kernels, scores, lengths, longest)
        ctx.save_for_backward(scores, lengths, marginals, *tables)
        ctx.longest, ctx.kernels = longest, kernels
        ctx.set_materialize_grads(False)
        return log_sums, marginals

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, None, None, None]:
        by_log_sums, by_marginals = grads
        marginals = ctx.saved_tensors[2]
        result = None if by_log_sums is None else by_log_sums[:, None, None, None] * marginals
        if by_marginals is not None:
            second = _by_marginals(ctx, by_marginals)
            result = second if result is None else result + second
        return result, None, None, None


def _by_marginals(ctx: Any, along: Tensor) -> Tensor:
    """The second derivative of the log-sums times `along`, with the shape of the scores."""
    scores, lengths, _, *tables = ctx.saved_tensors
    if not torch.is_grad_enabled():
        return hessian(ctx.kernels, scores, lengths, ctx.longest, Tables(*tables), along)
    return hessian_product(
        lambda x: segmentations(x, lengths, logsumexp, ctx.longest), scores, along
    )
