"""The native solver behind PyTorch custom ops, with exact first and second derivatives.

Around a solution with support S the posterior is affine in the scores (Niculae et al. 2018,
EMNLP, section 3.2): with `K = M_S^T M_S + 1 1^T` and

    J = K^-1 - K^-1 1 1^T K^-1 / (1^T K^-1 1)

the differentials are `d weights = J M_S^T d theta` and `d marginals = M_S J M_S^T d theta`. The
solver hands over the Cholesky factor of `K`; the symmetric operator

    (w, p)  ->  (x, M_S x),   x = J (w + M_S^T p)

is a second op. It serves the backward pass and, being its own adjoint, every further one.
"""

import torch
from torch import Tensor

from spinney import _native
from spinney._threads import get_num_threads
from spinney.posterior import SparsePosterior
from spinney.structures.base import Structure


def solve(
    scores: Tensor,
    structure: Structure,
    lengths: Tensor | None,
    temperature: float | Tensor,
    tol: float,
    max_active: int | None,
    max_iter: int | None,
) -> SparsePosterior:
    """SparseMAP of each instance; the arguments are those of `sparsemap`, already checked."""
    assert structure.native is not None
    _, projective, single_root = structure.native
    batch, n = scores.shape[:2]
    if isinstance(temperature, Tensor):
        heat = temperature.to(scores.device, torch.float64)
    else:
        heat = torch.full((batch,), temperature, dtype=torch.float64, device=scores.device)
    sizes_in = torch.full((batch,), n, device=scores.device) if lengths is None else lengths
    structures, weights, sizes, marginals, gap, converged, _, _ = _sparsemap_trees(
        scores,
        sizes_in,
        heat,
        bool(projective),
        bool(single_root),
        tol,
        max_active or 0,
        max_iter or 0,
    )
    return SparsePosterior(
        structure,
        structures,
        weights.to(scores.dtype),
        sizes,
        marginals.to(scores.dtype),
        gap,
        converged,
        lengths,
    )


def _plain(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """A contiguous CPU copy, or the tensor itself where it is one: what the extension reads."""
    return tensor.detach().to("cpu", dtype).contiguous()


@torch.library.custom_op("spinney::sparsemap_trees", mutates_args=())
def _sparsemap_trees(
    scores: Tensor,
    lengths: Tensor,
    temperature: Tensor,
    projective: bool,
    single_root: bool,
    tol: float,
    max_active: int,
    max_iter: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """(structures, weights, sizes, marginals, gap, converged, factor, calls), float64.

    `factor` holds the packed lower triangle of each instance's Cholesky factor, one after the
    other; `calls` how often the oracle was asked. A cap of 0 is none.
    """
    found = _native.solve_trees(
        _plain(scores, torch.float64),
        _plain(lengths, torch.int64),
        _plain(temperature, torch.float64),
        projective,
        single_root,
        tol,
        max_active,
        max_iter,
        get_num_threads(),
    )
    a, b, c, d, e, f, g, h = (torch.from_numpy(array).to(scores.device) for array in found)
    return a, b, c, d, e, f, g, h


@_sparsemap_trees.register_fake
def _(
    scores: Tensor, lengths: Tensor, temperature: Tensor, *options: bool | float | int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    context = torch.library.get_ctx()
    total, packed = context.new_dynamic_size(), context.new_dynamic_size()
    batch, n, m = scores.shape
    whole = {"dtype": torch.int64, "device": scores.device}
    real = {"dtype": torch.float64, "device": scores.device}
    return (
        torch.empty((total, n), **whole),
        torch.empty(total, **real),
        torch.empty(batch, **whole),
        torch.empty((batch, n, m), **real),
        torch.empty(batch, **real),
        torch.empty(batch, dtype=torch.bool, device=scores.device),
        torch.empty(packed, **real),
        torch.empty(batch, **whole),
    )


def _save_solution(ctx, inputs, output) -> None:
    scores, lengths, temperature = inputs[:3]
    structures, _, sizes, _, gap, converged, factor, calls = output
    ctx.mark_non_differentiable(structures, sizes, gap, converged, factor, calls)
    ctx.save_for_backward(scores, lengths, temperature, structures, sizes, factor)


def _solution_backward(ctx, _structures, on_weights, _sizes, on_marginals, *_rest):
    scores, lengths, temperature, structures, sizes, factor = ctx.saved_tensors
    _, on_theta = _tree_jacobian(structures, sizes, lengths, factor, on_weights, on_marginals)
    heat = temperature[:, None, None]
    on_temperature = None
    if ctx.needs_input_grad[2]:
        # Only arcs of the support have a gradient: the others may hold -inf or NaN.
        moved = torch.where(on_theta != 0, scores, 0).to(on_theta.dtype) * on_theta
        on_temperature = -moved.sum((1, 2)) / temperature.square()
    return ((on_theta / heat).to(scores.dtype), None, on_temperature, *[None] * 5)


_sparsemap_trees.register_autograd(_solution_backward, setup_context=_save_solution)


@torch.library.custom_op("spinney::tree_jacobian", mutates_args=())
def _tree_jacobian(
    structures: Tensor,
    sizes: Tensor,
    lengths: Tensor,
    factor: Tensor,
    on_weights: Tensor,
    on_parts: Tensor,
) -> tuple[Tensor, Tensor]:
    """(x, M_S x) with x = J (on_weights + M_S^T on_parts): (T,) and (B, n, n + 1), float64."""
    found = _native.jacobian_trees(
        _plain(structures, torch.int64),
        _plain(sizes, torch.int64),
        _plain(lengths, torch.int64),
        _plain(factor, torch.float64),
        _plain(on_weights, torch.float64),
        _plain(on_parts, torch.float64),
        get_num_threads(),
    )
    x, parts = (torch.from_numpy(array).to(on_weights.device) for array in found)
    return x, parts


@_tree_jacobian.register_fake
def _(
    structures: Tensor,
    sizes: Tensor,
    lengths: Tensor,
    factor: Tensor,
    on_weights: Tensor,
    on_parts: Tensor,
) -> tuple[Tensor, Tensor]:
    return (
        torch.empty_like(on_weights, memory_format=torch.contiguous_format),
        torch.empty_like(on_parts, memory_format=torch.contiguous_format),
    )


def _save_support(ctx, inputs, output) -> None:
    ctx.save_for_backward(*inputs[:4])


def _jacobian_backward(ctx, on_weights, on_parts):
    x, parts = _tree_jacobian(*ctx.saved_tensors, on_weights, on_parts)
    return None, None, None, None, x, parts


_tree_jacobian.register_autograd(_jacobian_backward, setup_context=_save_support)
