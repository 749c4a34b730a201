"""The native solver behind PyTorch custom ops, with exact first and second derivatives.

Around a solution with support S the posterior is affine in the scores (Niculae et al. 2018,
EMNLP, section 3.2): with `K = M_S^T M_S + 1 1^T` and

    J = K^-1 - K^-1 1 1^T K^-1 / (1^T K^-1 1)

the differentials are `d weights = J M_S^T d theta` and `d marginals = M_S J M_S^T d theta`. The
solver hands over the Cholesky factor of `K`; the symmetric operator

    (w, p)  ->  (x, M_S x),   x = J (w + M_S^T p)

is a second op. It serves the backward pass and, being its own adjoint, every further one. Where
only some parts are penalised, `K` counts those alone and the rest stands.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from sparsewood import _native
from sparsewood._threads import get_num_threads
from sparsewood.posterior import SparsePosterior
from sparsewood.structures.base import NativeStructure


def solve(
    scores: Tensor,
    structure: NativeStructure,
    lengths: Tensor | None,
    temperature: float | Tensor,
    tol: float,
    max_active: int | None,
    max_iter: int | None,
) -> SparsePosterior:
    """SparseMAP of each instance; the arguments are those of `sparsemap`, already checked."""
    batch, *parts = scores.shape
    if isinstance(temperature, Tensor):
        heat = temperature.to(scores.device, torch.float64)
    else:
        heat = torch.full((batch,), temperature, dtype=torch.float64, device=scores.device)
    name, options = structure.native
    weights, marginals, structures, sizes, gap, converged, *_ = _sparsemap(
        scores,
        structure.sizes_of(scores, lengths),
        heat,
        name,
        [int(option) for option in options],
        list(structure.sizes(tuple(parts))),
        list(structure.event_shape(tuple(parts))),
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


_Solution = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


@torch.library.custom_op("sparsewood::sparsemap", mutates_args=())
def _sparsemap(
    scores: Tensor,
    lengths: Tensor,
    temperature: Tensor,
    family: str,
    options: Sequence[int],
    full: Sequence[int],
    event: Sequence[int],
    tol: float,
    max_active: int,
    max_iter: int,
) -> _Solution:
    """(weights, marginals, structures, sizes, gap, converged, factor, parts, calls).

    Weights and marginals, the differentiable ones, have the dtype of `scores`. `factor` holds the
    packed lower triangle of each instance's Cholesky factor, one after the other; `parts` (T, *)
    the indices of each structure's parts, -1 after the last; `calls` how often the oracle was
    asked. `lengths` is (B, d), `full` what they are at most, `event` the shape of a structure. A
    cap of 0 is none.
    """
    found = _native.solve(
        family,
        options,
        _array(scores, torch.float64),
        _array(lengths, torch.int64),
        full,
        prod(event),
        _array(temperature, torch.float64),
        tol,
        max_active,
        max_iter,
        get_num_threads(),
    )
    tensors = [torch.from_numpy(array) for array in found]
    if scores.device.type != "cpu":
        tensors = [tensor.to(scores.device) for tensor in tensors]
    structures, weights, sizes, marginals, gap, converged, factor, parts, calls = tensors
    weights, marginals = weights.to(scores.dtype), marginals.to(scores.dtype)
    marginals = marginals.reshape(scores.shape)
    structures = structures.reshape(-1, *event)
    return weights, marginals, structures, sizes, gap, converged, factor, parts, calls


@torch.library.register_fake("sparsewood::sparsemap")
def _(
    scores: Tensor,
    lengths: Tensor,
    temperature: Tensor,
    family: str,
    options: Sequence[int],
    full: Sequence[int],
    event: Sequence[int],
    *limits: float | int,
) -> _Solution:
    context = torch.library.get_ctx()
    total, packed, width = (context.new_dynamic_size() for _ in range(3))
    batch = scores.shape[0]
    return (
        scores.new_empty(total),
        scores.new_empty(scores.shape),
        scores.new_empty(total, *event, dtype=torch.int64),
        scores.new_empty(batch, dtype=torch.int64),
        scores.new_empty(batch, dtype=torch.float64),
        scores.new_empty(batch, dtype=torch.bool),
        scores.new_empty(packed, dtype=torch.float64),
        scores.new_empty(total, width, dtype=torch.int64),
        scores.new_empty(batch, dtype=torch.int64),
    )


def _save_solution(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    scores, _, temperature = inputs[:3]
    _, _, structures, sizes, gap, converged, factor, parts, calls = output
    ctx.mark_non_differentiable(structures, sizes, gap, converged, factor, parts, calls)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(scores, temperature, parts, sizes, factor)


def _solution_backward(
    ctx: Any, on_weights: Tensor | None, on_marginals: Tensor | None, *_: None
) -> tuple[Tensor | None, ...]:
    scores, temperature, parts, sizes, factor = ctx.saved_tensors
    if on_weights is None:
        on_weights = scores.new_zeros(parts.shape[0])  # len() would fix the size in a graph
    if on_marginals is None:
        on_marginals = torch.zeros_like(scores)
    _, on_theta = _jacobian(parts, sizes, factor, on_weights, on_marginals.flatten(1))
    on_scores = on_temperature = None
    if ctx.needs_input_grad[0]:
        on_scores = (on_theta / temperature[:, None]).to(scores.dtype).reshape(scores.shape)
    if ctx.needs_input_grad[2]:
        # Only parts of the support have a gradient: the others may hold -inf or NaN.
        moved = torch.where(on_theta != 0, scores.flatten(1), 0).to(on_theta.dtype) * on_theta
        on_temperature = -moved.sum(1) / temperature.square()
    return on_scores, None, on_temperature, *[None] * 7


torch.library.register_autograd(
    "sparsewood::sparsemap", _solution_backward, setup_context=_save_solution
)


@torch.library.custom_op("sparsewood::sparsemap_jacobian", mutates_args=())
def _jacobian(
    parts: Tensor, sizes: Tensor, factor: Tensor, on_weights: Tensor, on_parts: Tensor
) -> tuple[Tensor, Tensor]:
    """(x, M_S x) with x = J (on_weights + M_S^T on_parts): (T,) and (B, P), float64."""
    x, out = _native.jacobian(
        _array(parts, torch.int64),
        _array(sizes, torch.int64),
        _array(factor, torch.float64),
        _array(on_weights, torch.float64),
        _array(on_parts, torch.float64),
        get_num_threads(),
    )
    return torch.from_numpy(x).to(factor.device), torch.from_numpy(out).to(factor.device)


@torch.library.register_fake("sparsewood::sparsemap_jacobian")
def _(
    parts: Tensor, sizes: Tensor, factor: Tensor, on_weights: Tensor, on_parts: Tensor
) -> tuple[Tensor, Tensor]:
    return factor.new_empty(on_weights.shape), factor.new_empty(on_parts.shape)


def _save_support(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(*inputs[:3])
    ctx.dtypes = inputs[3].dtype, inputs[4].dtype


def _jacobian_backward(ctx: Any, on_x: Tensor, on_parts: Tensor) -> tuple[Tensor | None, ...]:
    x, parts = _jacobian(*ctx.saved_tensors, on_x, on_parts)
    return None, None, None, x.to(ctx.dtypes[0]), parts.to(ctx.dtypes[1])


torch.library.register_autograd(
    "sparsewood::sparsemap_jacobian", _jacobian_backward, setup_context=_save_support
)
