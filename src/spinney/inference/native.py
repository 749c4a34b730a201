"""The native solver behind PyTorch custom ops, with exact first and second derivatives.

Around a solution with support S the posterior is affine in the scores (Niculae et al. 2018,
EMNLP, section 3.2): with `K = M_S^T M_S + 1 1^T` and

    J = K^-1 - K^-1 1 1^T K^-1 / (1^T K^-1 1)

the differentials are `d weights = J M_S^T d theta` and `d marginals = M_S J M_S^T d theta`. The
solver hands over the Cholesky factor of `K`; the symmetric operator

    (w, p)  ->  (x, M_S x),   x = J (w + M_S^T p)

is a second op. It serves the backward pass and, being its own adjoint, every further one.
"""

from typing import Any

import torch
from numpy.typing import NDArray
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
    assert structure.native is not None  # `sparsemap` comes here for no other structure
    _, projective, single_root = structure.native
    batch, n, _ = scores.shape
    if isinstance(temperature, Tensor):
        heat = temperature.to(scores.device, torch.float64)
    else:
        heat = torch.full((batch,), temperature, dtype=torch.float64, device=scores.device)
    words = torch.full((batch,), n, device=scores.device) if lengths is None else lengths
    weights, marginals, structures, sizes, gap, converged, _, _ = _sparsemap_trees(
        scores,
        words,
        heat,
        bool(projective),
        bool(single_root),
        tol,
        max_active or 0,
        max_iter or 0,
    )
    return SparsePosterior(
        structure, structures, weights, sizes, marginals, gap, converged, lengths
    )


def _array(tensor: Tensor, dtype: torch.dtype) -> NDArray[Any]:
    """The values as the extension reads them: of one dtype, contiguous, on the CPU."""
    return tensor.detach().to("cpu", dtype).contiguous().numpy()


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
    """(weights, marginals, structures, sizes, gap, converged, factor, calls).

    Weights and marginals, the differentiable ones, have the dtype of `scores`. `factor` holds the
    packed lower triangle of each instance's Cholesky factor, one after the other; `calls` how
    often the oracle was asked. A cap of 0 is none.
    """
    found = _native.solve_trees(
        _array(scores, torch.float64),
        _array(lengths, torch.int64),
        _array(temperature, torch.float64),
        projective,
        single_root,
        tol,
        max_active,
        max_iter,
        get_num_threads(),
    )
    tensors = [torch.from_numpy(array) for array in found]
    if scores.device.type != "cpu":
        tensors = [tensor.to(scores.device) for tensor in tensors]
    structures, weights, sizes, marginals, gap, converged, factor, calls = tensors
    weights, marginals = weights.to(scores.dtype), marginals.to(scores.dtype)
    return weights, marginals, structures, sizes, gap, converged, factor, calls


@torch.library.register_fake("spinney::sparsemap_trees")
def _(
    scores: Tensor, lengths: Tensor, temperature: Tensor, *options: bool | float | int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    context = torch.library.get_ctx()
    total, packed = context.new_dynamic_size(), context.new_dynamic_size()
    batch, n, m = scores.shape
    return (
        scores.new_empty(total),
        scores.new_empty(batch, n, m),
        scores.new_empty(total, n, dtype=torch.int64),
        scores.new_empty(batch, dtype=torch.int64),
        scores.new_empty(batch, dtype=torch.float64),
        scores.new_empty(batch, dtype=torch.bool),
        scores.new_empty(packed, dtype=torch.float64),
        scores.new_empty(batch, dtype=torch.int64),
    )


def _save_solution(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    scores, lengths, temperature = inputs[:3]
    _, _, structures, sizes, gap, converged, factor, calls = output
    ctx.mark_non_differentiable(structures, sizes, gap, converged, factor, calls)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(scores, lengths, temperature, structures, sizes, factor)


def _solution_backward(
    ctx: Any, on_weights: Tensor | None, on_marginals: Tensor | None, *_: None
) -> tuple[Tensor | None, ...]:
    scores, lengths, temperature, structures, sizes, factor = ctx.saved_tensors
    if on_weights is None:
        on_weights = scores.new_zeros(len(structures))
    if on_marginals is None:
        on_marginals = torch.zeros_like(scores)
    _, on_theta = _tree_jacobian(structures, sizes, lengths, factor, on_weights, on_marginals)
    on_scores = on_temperature = None
    if ctx.needs_input_grad[0]:
        on_scores = (on_theta / temperature[:, None, None]).to(scores.dtype)
    if ctx.needs_input_grad[2]:
        # Only arcs of the support have a gradient: the others may hold -inf or NaN.
        moved = torch.where(on_theta != 0, scores, 0).to(on_theta.dtype) * on_theta
        on_temperature = -moved.sum((1, 2)) / temperature.square()
    return on_scores, None, on_temperature, *[None] * 5


torch.library.register_autograd(
    "spinney::sparsemap_trees", _solution_backward, setup_context=_save_solution
)


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
    x, parts = _native.jacobian_trees(
        _array(structures, torch.int64),
        _array(sizes, torch.int64),
        _array(lengths, torch.int64),
        _array(factor, torch.float64),
        _array(on_weights, torch.float64),
        _array(on_parts, torch.float64),
        get_num_threads(),
    )
    return torch.from_numpy(x).to(factor.device), torch.from_numpy(parts).to(factor.device)


@torch.library.register_fake("spinney::tree_jacobian")
def _(
    structures: Tensor,
    sizes: Tensor,
    lengths: Tensor,
    factor: Tensor,
    on_weights: Tensor,
    on_parts: Tensor,
) -> tuple[Tensor, Tensor]:
    return factor.new_empty(on_weights.shape), factor.new_empty(on_parts.shape)


def _save_support(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(*inputs[:4])
    ctx.dtypes = inputs[4].dtype, inputs[5].dtype


def _jacobian_backward(ctx: Any, on_x: Tensor, on_parts: Tensor) -> tuple[Tensor | None, ...]:
    structures, sizes, lengths, factor = ctx.saved_tensors
    x, parts = _tree_jacobian(structures, sizes, lengths, factor, on_x, on_parts)
    return None, None, None, None, x.to(ctx.dtypes[0]), parts.to(ctx.dtypes[1])


torch.library.register_autograd(
    "spinney::tree_jacobian", _jacobian_backward, setup_context=_save_support
)
