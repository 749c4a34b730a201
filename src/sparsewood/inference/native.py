"""The native solver behind a PyTorch custom op, for eager calls and compiled graphs."""

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from sparsewood import _native
from sparsewood._internal.batch import Batch
from sparsewood._internal.threads import get_num_threads
from sparsewood.inference import _kernels
from sparsewood.inference._derivatives import (
    Solution,
    array,
    differentiable,
    save_solution,
    solution_backward,
)
from sparsewood.inference._kernels import Limits
from sparsewood.structures._kernels import Padded
from sparsewood.structures.base import NativeStructure


def solve(
    scores: Tensor,
    structure: NativeStructure,
    lengths: Tensor | None,
    temperature: Tensor,
    tol: float,
    max_active: int | None,
    max_iter: int | None,
    max_support: int | None,
    canonical: bool,
    batch: Batch | None = None,
) -> Solution:
    """SparseMAP of each instance; the arguments are those of `sparsemap`, already checked.

    `batch` is what the errors of a compiled graph speak of, in which no caller can turn them.
    """
    scores = structure.restrict(scores)
    shape = tuple(scores.shape[1:])
    sizes = None if lengths is None else structure.size_of(scores, lengths)
    name, options = structure.native
    rest = (
        list(structure.event_shape(shape)),
        sizes,
        list(structure.full_size(shape)),
        name,
        [int(option) for option in options],
        tol,
        max_active or 0,
        max_iter or 0,
        max_support or 0,
        canonical,
    )
    if torch.compiler.is_compiling():
        _check_no_tangent(scores, temperature)
        shape = scores.shape[:1] if batch is None else batch.shape
        return Solution(*_sparsemap(scores, temperature, *rest, list(shape)))

    def call(scores: Tensor, temperature: Tensor) -> Solution:
        return Solution(*_run(scores, temperature, *rest, [len(scores)]))

    return differentiable(call, scores, temperature)


def _check_no_tangent(*tensors: Tensor) -> None:
    """RuntimeError in forward mode, of which custom ops know nothing: it would find zeros."""
    if any(unpack_dual(tensor).tangent is not None for tensor in tensors):
        raise RuntimeError(
            "sparsemap has no forward-mode derivative inside a compiled graph: call it outside"
        )


# The fields of `Solution`: a custom op reads its schema off the signature.
_Solution = tuple[
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor,
]


def _run(
    scores: Tensor,
    temperature: Tensor,
    event: Sequence[int],
    lengths: Tensor | None,
    full: Sequence[int],
    family: str,
    options: Sequence[int],
    tol: float,
    max_active: int,
    max_iter: int,
    max_support: int,
    canonical: bool,
    batch: Sequence[int],
) -> _Solution:
    """The fields of `Solution`, in their order.

    Weights and marginals, the differentiable ones, have the dtype of `scores`. `factor` holds the
    packed lower triangle of each instance's Cholesky factor, one after the other; `used` (T, *)
    the indices of each structure's parts, -1 after the last; `calls` how often the oracle was
    asked. `lengths` is (B, d) or None, `full` what they are at most, `event` the shape of one
    structure. A cap of 0 is none. `batch` is the shape of the batch in messages: (B,) leaves them
    as they are.
    """
    limits = Limits(tol, max_active, max_iter)
    found = None
    if not (max_support or canonical):  # which only the CPU knows
        padded = Padded.of("solve", family, options, scores, lengths, full)
        if padded is not None:
            found = _kernels.solve(padded, prod(event), temperature, limits)
    if found is not None:
        none = found.sizes.new_zeros(len(scores), dtype=torch.bool)
        found = *found, none, temperature.clone(), found.sizes.new_zeros(len(scores), 0)
    else:
        if lengths is None:
            lengths = torch.tensor(full).repeat(len(scores), 1)
        with Batch(torch.Size(batch)):
            arrays = _native.solve(
                family,
                options,
                array(scores, torch.float64),
                array(lengths, torch.int64),
                full,
                prod(event),
                array(temperature, torch.float64),
                *limits,
                max_support,
                canonical,
                get_num_threads(),
            )
        found = [torch.from_numpy(values).to(scores.device) for values in arrays]
    structures, weights, sizes, marginals, *rest = found
    weights, marginals = weights.to(scores.dtype), marginals.to(scores.dtype)
    marginals = marginals.reshape(scores.shape)
    structures = structures.reshape(-1, *event)
    return weights, marginals, structures, sizes, *rest  # pyright: ignore[reportReturnType]


_sparsemap = torch.library.custom_op("sparsewood::sparsemap", _run, mutates_args=())


@_sparsemap.register_fake
def _(scores: Tensor, temperature: Tensor, event: Sequence[int], *_: Any) -> _Solution:
    context = torch.library.get_ctx()
    total, packed, width, tied = (context.new_dynamic_size() for _ in range(4))
    batch = scores.shape[0]
    return (
        scores.new_empty(total),
        scores.new_empty(scores.shape),
        scores.new_empty(total, *event, dtype=torch.int64),
        scores.new_empty(batch, dtype=torch.int64),
        scores.new_empty(batch, dtype=torch.float64),
        scores.new_empty(batch, dtype=torch.int64),
        scores.new_empty(packed, dtype=torch.float64),
        scores.new_empty(total, width, dtype=torch.int64),
        scores.new_empty(batch, dtype=torch.int64),
        scores.new_empty(batch, dtype=torch.bool),
        scores.new_empty(batch, dtype=torch.float64),
        scores.new_empty(batch, tied, dtype=torch.int64),
    )


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    save_solution(ctx, inputs[0], inputs[1], Solution(*output))


def _backward(
    ctx: Any, on_weights: Tensor | None, on_marginals: Tensor | None, *_: None
) -> tuple[Tensor | None, ...]:
    on_scores, on_temperature = solution_backward(
        ctx, on_weights, on_marginals, ctx.needs_input_grad[1]
    )
    return on_scores, on_temperature, *[None] * 11


_sparsemap.register_autograd(_backward, setup_context=_save)
