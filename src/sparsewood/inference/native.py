"""The native solver as a PyTorch custom op, for eager calls and compiled graphs."""

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from sparsewood import _native
from sparsewood._internal.batch import BatchShape, given_batch
from sparsewood._internal.threads import get_num_threads
from sparsewood.inference import _kernels
from sparsewood.inference._derivatives import (
    array,
    differentiable,
    save_solution,
    solution_backward,
)
from sparsewood.inference._kernels import Limits
from sparsewood.inference._solution import Solution, new_solution
from sparsewood.structures._kernels import KernelBatch
from sparsewood.structures.base import NativeStructure, OwnParts


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
    batch: BatchShape | None = None,
) -> Solution:
    """SparseMAP of each instance; takes the arguments of `sparsemap`, already checked.

    `batch` is the batch shape for indices in errors of compiled graphs; outside of them, the caller
    converts the indices.
    """
    scores = structure.restrict(scores)
    shape = tuple(scores.shape[1:])
    sizes = None if lengths is None else structure.size_of(scores, lengths)
    name, options = structure.native
    # The posterior makes tables of parts on demand: they may be far larger than lists.
    listed = isinstance(structure, OwnParts) and not torch.compiler.is_compiling()
    rest = (
        [0] if listed else list(structure.event_shape(shape)),
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
        return _run(scores, temperature, *rest, list(given_batch(len(scores))))

    return differentiable(call, scores, temperature)


def _check_no_tangent(*tensors: Tensor) -> None:
    """Raise RuntimeError in forward mode: custom ops ignore it, so derivatives would be zero."""
    if any(unpack_dual(tensor).tangent is not None for tensor in tensors):
        raise RuntimeError(
            "sparsemap has no forward-mode derivative in a compiled graph: call it outside"
        )


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
) -> Solution:
    """Solve a batch, with kernels if the device has them.

    `event` is the shape of one structure, (0,) to leave structures out, `lengths` (B, d) or None,
    `full` the largest lengths. A cap of 0 means no cap. `batch` is the batch shape for error
    messages.
    """
    limits = Limits(tol, max_active, max_iter)
    found = None
    if not (max_support or canonical):  # only the CPU supports these
        padded = KernelBatch.of("solve", family, options, scores, lengths, full)
        if padded is not None:
            found = _kernels.solve(padded, prod(event), temperature, limits)
    if found is None:
        if lengths is None:
            lengths = torch.tensor(full).repeat(len(scores), 1)
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
            batch=batch,
        )
        found = Solution(**{name: torch.from_numpy(table) for name, table in arrays.items()})
        if scores.device.type != "cpu":
            found = Solution(*(table.to(scores.device) for table in found))
    return found._replace(
        weights=found.weights.to(scores.dtype),
        marginals=found.marginals.to(scores.dtype).reshape(scores.shape),
        structures=found.structures.reshape(len(found.weights), *event),
    )


# PyTorch derives the schema from annotations, and accepts plain tuples only.
_run.__annotations__["return"] = tuple[tuple(Solution.__annotations__.values())]
_sparsemap = torch.library.custom_op("sparsewood::sparsemap", _run, mutates_args=())


@_sparsemap.register_fake
def _(scores: Tensor, temperature: Tensor, event: Sequence[int], *_: Any) -> Solution:
    context = torch.library.get_ctx()
    return new_solution(scores, event, *(context.new_dynamic_size() for _ in range(4)))


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
