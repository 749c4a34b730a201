r"""Non-projective dependency trees: the matrix-tree theorem (Tutte 1984; Koo et al. 2007).

Let `w[i, j] = exp(scores[i, j])` be the weight of the arc from head j to word i and `r[i]` the
weight of the arc from the root. The sum over all trees is the determinant of

    L[i, i] = r[i] + sum_j w[i, j],    L[i, j] = -w[i, j]             (any number of roots)

or, for a single root, of the same matrix without `r`, its first column replaced by `r` (Koo et al.,
section 3.2). There are four implementations:

- `_native.sum_trees` (CPU) eliminates one word after another, without cancellation. It reports
  instances whose weights underflow.
- `elimination` does the same on logarithms: slow, and accurate for all scores. It is the fallback.
- `tree_kernels` does the same on a GPU, where it is fast.
- `by_determinant`, batched linear algebra, serves higher derivatives and GPUs without kernels. It
  loses accuracy to cancellation if the matrix is nearly singular, for example if some words prefer
  each other to the root by many nats. A large inverse, which the gradient needs anyway, reveals
  this.
"""

from typing import Any

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._internal.cuda import Kernels
from sparsewood._internal.threads import get_num_threads
from sparsewood._internal.transforms import is_transformed
from sparsewood.structures.recursions.elimination import eliminate
from sparsewood.structures.recursions.hessian import hessian_product
from sparsewood.structures.recursions.tree_kernels import hessian, sums, tree_kernels

# With larger entries of the inverse, the error may exceed 1e-16 times their square.
_LARGEST_INVERSE = 1e3


def spanning_trees(scores: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    """The log-partition function over all trees of each sentence: (B, n, n + 1) -> (B,)."""
    return spanning_tree_sums(scores, lengths, single_root)[0]


def spanning_tree_sums(
    scores: Tensor, lengths: Tensor | None, single_root: bool
) -> tuple[Tensor, Tensor | None]:
    """The log-partition function, and the marginals if they come with it."""
    if is_transformed(scores):  # cannot branch on values or trace native code
        return eliminate(scores, lengths, single_root), None
    kernels = tree_kernels(scores)
    if kernels is None and scores.device.type != "cpu":
        return by_determinant(scores, lengths, single_root), None
    log_sums, marginals, good = _TreeSums.apply(scores, lengths, single_root, kernels)
    if good is None or good.all():
        return log_sums, marginals
    return _repaired(log_sums, ~good, scores, lengths, single_root), None


def by_determinant(scores: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    """The log-partition function by linear algebra, (B,)."""
    log_det, _, inverse = _MatrixTree.apply(scores, lengths, single_root)
    lost = is_lost(inverse)
    if lost.any():  # only those that are not lost, so that no NaN enters their gradient
        kept = (~lost).nonzero().squeeze(1)
        log_det = torch.zeros_like(log_det)
        if len(kept):
            some = by_determinant(scores[kept], _take(lengths, kept), single_root)
            log_det = log_det.index_copy(0, kept, some)
    return _repaired(log_det, lost, scores, lengths, single_root)


def _repaired(
    log_sums: Tensor, lost: Tensor, scores: Tensor, lengths: Tensor | None, single_root: bool
) -> Tensor:
    """`log_sums` (B,), recomputed by elimination where `lost` (B,)."""
    if not lost.any():
        return log_sums
    rows = lost.nonzero().squeeze(1)
    return log_sums.index_copy(0, rows, eliminate(scores[rows], _take(lengths, rows), single_root))


def _take(lengths: Tensor | None, rows: Tensor) -> Tensor | None:
    return None if lengths is None else lengths[rows]


class _TreeSums(torch.autograd.Function):
    """Scores -> log-partition function (B,), marginals (B, n, n + 1), (B,) where they are valid.

    None instead of the last: valid everywhere. The marginals, which are the gradient, are an output
    so that autograd can differentiate them.
    """

    @staticmethod
    def forward(
        ctx: Any,
        scores: Tensor,
        lengths: Tensor | None,
        single_root: bool,
        kernels: Kernels | None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        if kernels is None:
            log_sums, marginals, good = _native_sums(scores, lengths, single_root)
            ctx.mark_non_differentiable(good)
        else:
            log_sums, marginals = sums(kernels, scores, lengths, single_root)
            good = None
        ctx.save_for_backward(scores, marginals, lengths)
        ctx.single_root, ctx.kernels = single_root, kernels
        ctx.set_materialize_grads(False)
        return log_sums, marginals, good

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, None, None, None]:
        by_log_sums, by_marginals, _ = grads
        marginals = ctx.saved_tensors[1]
        result = None if by_log_sums is None else by_log_sums[:, None, None] * marginals
        if by_marginals is not None:
            second = _by_marginals(ctx, by_marginals)
            result = second if result is None else result + second
        return result, None, None, None


def _native_sums(
    scores: Tensor, lengths: Tensor | None, single_root: bool
) -> tuple[Tensor, Tensor, Tensor]:
    batch, n, _ = scores.shape
    table = scores.detach().contiguous()
    sizes = torch.full((batch,), n) if lengths is None else lengths.contiguous()
    log_sums = torch.empty(batch, dtype=torch.float64)
    # The native code writes every entry except padding.
    marginals = torch.empty_like(table) if lengths is None else torch.zeros_like(table)
    good = torch.empty(batch, dtype=torch.bool)
    _native.sum_trees(
        table.numpy(),
        sizes.numpy(),
        log_sums.numpy(),
        marginals.numpy(),
        good.numpy(),
        single_root,
        get_num_threads(),
    )
    return log_sums, marginals, good


def _by_marginals(ctx: Any, along: Tensor) -> Tensor:
    """The second derivative of the log-partition function times `along`, (B, n, n + 1)."""
    scores, _, lengths = ctx.saved_tensors
    if ctx.kernels is not None and not torch.is_grad_enabled():
        return hessian(ctx.kernels, scores, lengths, ctx.single_root, along)
    return hessian_product(lambda x: by_determinant(x, lengths, ctx.single_root), scores, along)


def is_lost(inverse: Tensor) -> Tensor:
    """(B,) bool: where the inverses (B, n, n) are NaN or too large to be accurate."""
    return ~(inverse.detach().abs().amax((-2, -1)) <= _LARGEST_INVERSE)


def scaled_weights(
    scores: Tensor, lengths: Tensor | None, single_root: bool
) -> tuple[Tensor, Tensor]:
    """Scaled weights (B, n, n + 1), and the log of the scale of their sum over trees, (B,).

    Each row is divided by its largest weight, and with a single root so is the root's column: every
    tree uses exactly one entry of each.
    """
    top = scores.amax(-1)
    if lengths is not None:
        top = top.masked_fill(_padding(scores, lengths), 0.0)
    weights = scores - top.unsqueeze(-1)
    log_scale = top.sum(-1)
    if single_root:
        best_root = weights[..., 0].amax(-1)
        weights[..., 0] -= best_root.unsqueeze(-1)
        log_scale += best_root
    return weights.exp_(), log_scale


def laplacian(weights: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    """The matrix (B, n, n) whose determinant is the sum over trees of weights (B, n, n + 1)."""
    words = weights[..., 1:]
    matrix = words.neg()
    diagonal = (words if single_root else weights).sum(-1)
    if lengths is not None:  # a one on the diagonal has no effect on the determinant
        diagonal += _padding(weights, lengths)
    matrix.diagonal(dim1=-2, dim2=-1).add_(diagonal)  # was 0: no word is its own head
    if single_root:
        matrix[..., 0] = weights[..., 0]
    return matrix


def _padding(scores: Tensor, lengths: Tensor) -> Tensor:
    """(B, n) bool: beyond the last word."""
    return torch.arange(scores.shape[1], device=scores.device) >= lengths[:, None]


class _MatrixTree(torch.autograd.Function):
    """Scores -> log-partition function (B,), scaled weights, inverse of the Laplacian.

    The gradient is computed from the weights and the inverse, which are outputs so that autograd
    can differentiate it any number of times.
    """

    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, lengths: Tensor | None, single_root: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        weights, log_scale = scaled_weights(scores, lengths, single_root)
        matrix = laplacian(weights, lengths, single_root)
        factors, pivots, _ = torch.linalg.lu_factor_ex(matrix)
        log_det = factors.diagonal(dim1=-2, dim2=-1).abs().log().sum(-1)
        one = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
        inverse = torch.linalg.lu_solve(factors, pivots, one.expand_as(matrix))
        ctx.save_for_backward(weights, inverse)
        ctx.single_root = single_root
        ctx.set_materialize_grads(False)
        return log_det + log_scale, weights, inverse

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, None, None]:
        weights, inverse = ctx.saved_tensors
        by_log_det, by_weights, by_inverse = grads
        transposed = inverse.mT
        by_matrix = torch.zeros_like(transposed)
        if by_log_det is not None:
            by_matrix = by_log_det[:, None, None] * transposed
        if by_inverse is not None:
            by_matrix = by_matrix - transposed @ by_inverse @ transposed
        total = _by_weights(by_matrix, ctx.single_root)
        if by_weights is not None:
            total = total + by_weights
        return weights * total, None, None


def _by_weights(by_matrix: Tensor, single_root: bool) -> Tensor:
    """Map the gradient of the Laplacian, (B, n, n), to that of the weights, (B, n, n + 1)."""
    if single_root:
        root, rest = by_matrix[..., :1], by_matrix[..., 1:]
        by_matrix = torch.nn.functional.pad(rest, (1, 0))
    else:
        root = None
    diagonal = by_matrix.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)
    return torch.cat([diagonal if root is None else root, diagonal - by_matrix], -1)
