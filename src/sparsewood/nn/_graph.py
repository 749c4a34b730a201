"""Compositions over a forest as custom ops, for compiled graphs.

The number of levels of a forest and their offsets depend on the trees. In a graph, a forest is
therefore passed as a list of tensors, from which these ops rebuild it.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from sparsewood.forest import Forest
from sparsewood.nn._levels import Composition

_TENSORS = 8  # tensors of a forest, followed by its edge weights, if any


def compose_in_graph(
    inputs: Tensor, weight: Tensor, split: int, cell: str, forest: Forest
) -> Tensor:
    """`Compose` for a compiled graph, in which a forest is a list of tensors: h (N, hidden)."""
    tensors = [getattr(forest, field.name) for field in fields(forest)[:_TENSORS]]
    if forest.weights is not None:
        tensors.append(forest.weights)
    return _compose_op(inputs, weight, split, cell, tensors, list(forest.shape))[0]


def _forest(tensors: Sequence[Tensor], shape: Sequence[int]) -> Forest:
    weights = tensors[_TENSORS] if len(tensors) > _TENSORS else None
    return Forest(*tensors[:_TENSORS], shape=(shape[0], shape[1]), weights=weights)


@torch.library.custom_op("sparsewood::compose", mutates_args=())
def _compose_op(
    inputs: Tensor,
    weight: Tensor,
    split: int,
    cell: str,
    forest: Sequence[Tensor],
    shape: Sequence[int],
) -> list[Tensor]:
    made = _forest(forest, shape)
    return list(Composition.named[cell]().pass_up(inputs, weight, split, made))


@_compose_op.register_fake
def _(inputs: Tensor, weight: Tensor, split: int, cell: str, *forest: Any) -> list[Tensor]:
    made = _forest(*forest)
    dtype = torch.promote_types(inputs.dtype, torch.float32)
    h = inputs.new_empty(made.row.shape[0], weight.shape[1], dtype=dtype)
    return Composition.named[cell]().kept(made, h, weight.shape[0])


@torch.library.custom_op("sparsewood::compose_backward", mutates_args=())
def _backward_op(
    on_h: Tensor,
    weight: Tensor,
    inputs: Tensor,
    kept: Sequence[Tensor],
    split: int,
    cell: str,
    forest: Sequence[Tensor],
    shape: Sequence[int],
) -> tuple[Tensor, Tensor, Tensor]:
    made = _forest(forest, shape)
    rows, dtype = inputs.shape[0], inputs.dtype
    return Composition.named[cell]().pass_down(on_h, weight, kept, split, made, rows, dtype)


@_backward_op.register_fake
def _(
    on_h: Tensor, weight: Tensor, inputs: Tensor, kept: Any, split: int, cell: str, *forest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    edges = _forest(*forest).weights
    on_edges = on_h.new_empty(0) if edges is None else torch.empty_like(edges)
    return torch.empty_like(inputs), torch.empty_like(weight), on_edges


def _save_pass(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
    x, weight, ctx.split, ctx.cell, forest, ctx.shape = inputs
    ctx.tensors = len(forest)
    ctx.save_for_backward(x, weight, *forest, *output)


def _compose_backward(ctx: Any, on_states: list[Tensor]) -> tuple[Any, ...]:
    x, weight, *rest = ctx.saved_tensors
    forest, kept = rest[: ctx.tensors], rest[ctx.tensors :]
    *found, on_edges = _backward_op(
        on_states[0], weight, x, kept, ctx.split, ctx.cell, forest, ctx.shape
    )
    weighted = [on_edges] * (ctx.tensors - _TENSORS)
    return *found, None, None, [None] * _TENSORS + weighted, None


_compose_op.register_autograd(_compose_backward, setup_context=_save_pass)
