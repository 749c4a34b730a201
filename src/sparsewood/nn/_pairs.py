"""The hidden layer of arc scorers over all pairs of words: v^T tanh(heads + dependents)."""

from typing import Any

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._internal.threads import get_num_threads
from sparsewood.nn import _cuda_pairs

_CHUNK = 1 << 22  # maximum size of a chunk of the hidden layer


def score_pairs(heads: Tensor, dependents: Tensor, v: Tensor) -> Tensor:
    """v^T tanh(heads + dependents) for all pairs: (B, m, k), (B, n, k), (k,) -> (B, n, m).

    The first head is the root: m = n + 1.
    """
    if not has_native(heads):
        scores: Any = PairwiseTanh.apply(heads, dependents, v)
        return scores
    prefixes = heads.new_empty(*heads.shape[:2], 0, dtype=torch.float64)
    native: Any = NativePairs.apply(heads, dependents, prefixes, None, v)
    return native


def has_native(heads: Tensor) -> bool:
    """Whether `NativePairs` supports such vectors."""
    return (
        heads.dtype == torch.float32
        and heads.device.type == "cpu"
        and not _cuda_pairs.serves(heads)
        and not torch.compiler.is_compiling()
    )


class NativePairs(torch.autograd.Function):
    """`PairwiseTanh`, or `PairsBetween` if there is a table, in float32 on the CPU.

    The formulas are in native/nn/pairs.h. The hidden layer is never stored.
    """

    @staticmethod
    def forward(
        ctx: Any,
        heads: Tensor,
        dependents: Tensor,
        prefixes: Tensor,
        table: Tensor | None,
        v: Tensor,
    ) -> Tensor:
        table = v.new_empty(0, len(v)) if table is None else table
        given = [t.detach().contiguous() for t in (heads, dependents, prefixes, table, v)]
        scores = dependents.new_empty(*dependents.shape[:2], heads.shape[1])
        arrays = (t.numpy() for t in (*given, scores))
        _native.score_pairs(*arrays, threads=_threads(scores.numel() * len(v)))
        ctx.save_for_backward(*given)
        return scores

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        given = ctx.saved_tensors
        heads, dependents, prefixes, table, v = given
        between = len(table) > 0
        refuse_second_derivative("BetweenArcScorer" if between else "MLPArcScorer")
        on_scores = gradients[0].contiguous()
        on_heads, on_dependents, on_prefixes = map(torch.empty_like, (heads, dependents, prefixes))
        on_table, on_v = (v.new_empty(len(heads), *t.shape) for t in (table, v))
        found = (on_heads, on_dependents, on_prefixes, on_table, on_v)
        arrays = (t.numpy() for t in (*given, on_scores, *found))
        _native.backward_pairs(*arrays, threads=_threads(on_scores.numel() * len(v)))
        if not between:
            return on_heads, on_dependents, None, None, on_v.sum(0)
        return on_heads, on_dependents, on_prefixes, on_table.sum(0), on_v.sum(0)


def _threads(numbers: int) -> int:
    """Number of threads for a hidden layer of this size: one per 2^20 numbers."""
    return max(1, min(get_num_threads(), numbers >> 20))


def refuse_second_derivative(module: str) -> None:
    """RuntimeError if the backward pass this is called in is itself recorded."""
    # `once_differentiable` would miss derivatives through the saved tensors.
    if torch.is_grad_enabled():
        raise RuntimeError(f"{module} is differentiable once: not with create_graph=True")


class PairwiseTanh(torch.autograd.Function):
    """v^T tanh(heads + dependents) for all pairs: (B, m, k), (B, n, k), (k,) -> (B, n, m)."""

    @staticmethod
    def forward(ctx: Any, heads: Tensor, dependents: Tensor, v: Tensor) -> Tensor:
        ctx.by_kernels = _cuda_pairs.serves(heads)
        if ctx.by_kernels:
            ctx.save_for_backward(heads, dependents, v, None)
            return _cuda_pairs.score_pairs(heads, dependents, v)
        hidden = None
        scores = dependents.new_empty(*dependents.shape[:2], heads.shape[1])
        slices = chunks(heads, dependents)
        for rows in slices:
            hidden = _hidden(heads, dependents[:, rows])
            scores[:, rows] = hidden @ v
        kept = hidden if len(slices) == 1 else None
        ctx.save_for_backward(heads, dependents, v, kept)
        return scores

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        refuse_second_derivative("MLPArcScorer")
        (on_scores,) = gradients
        heads, dependents, v, kept = ctx.saved_tensors
        if ctx.by_kernels:
            return _cuda_pairs.backward_pairs(heads, dependents, v, on_scores)
        on_heads, on_dependents = torch.zeros_like(heads), torch.zeros_like(dependents)
        on_v = torch.zeros_like(v)
        for rows in chunks(heads, dependents):
            hidden = _hidden(heads, dependents[:, rows]) if kept is None else kept
            on_rows = on_scores[:, rows].contiguous()
            on_v += on_rows.flatten() @ hidden.flatten(0, 2)
            # The factor v is common to all pairs, so it is applied after the sums.
            slope = torch.ops.aten.tanh_backward(on_rows[..., None].expand_as(hidden), hidden)
            on_heads += slope.sum(1)
            on_dependents[:, rows] = slope.sum(2)
        return on_heads * v, on_dependents * v, on_v


def chunks(heads: Tensor, dependents: Tensor) -> list[slice]:
    """Slices of dependents whose hidden layer has at most `_CHUNK` numbers, at least one each."""
    n = dependents.shape[1]
    step = max(1, _CHUNK // max(1, heads.numel()))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _hidden(heads: Tensor, dependents: Tensor) -> Tensor:
    """tanh of the sum for each pair: (B, m, k), (B, r, k) -> (B, r, m, k)."""
    return (dependents[:, :, None] + heads[:, None]).tanh_()
