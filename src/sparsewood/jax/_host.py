"""PyTorch code on the values of jax arrays.

XLA calls it by `jax.pure_callback`. Handlers for `jax.ffi` would save some ten microseconds per
call, but the build would need the headers of jaxlib, and all checks of values would have to be
written a second time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax.core import Tracer
from numpy.typing import NDArray
from torch import Size, Tensor

from sparsewood.structures.base import Structure

Compute = Callable[..., Sequence[Tensor]]
Results = tuple[jax.ShapeDtypeStruct, ...]


def on_host(
    compute: Compute, results: Results, *operands: jax.Array | None
) -> tuple[jax.Array, ...]:
    """The tensors that `compute` returns, as arrays with the shapes and dtypes of `results`.

    `compute` gets copies of the operands as tensors on the CPU. Under `jax.vmap` all operands and
    results have further leading dimensions, so that it is called once.

    An exception of `compute` reaches the caller as it is, except in compiled functions, where XLA
    wraps it in a `jax.errors.JaxRuntimeError` with the same text.
    """
    call = _OnArrays(compute, tuple(np.dtype(result.dtype) for result in results))
    if any(isinstance(operand, Tracer) for operand in operands):
        return jax.pure_callback(call, results, *operands, vmap_method="broadcast_all")
    return tuple(jnp.asarray(table) for table in call(*operands))


@dataclass(frozen=True)
class _OnArrays:
    """`compute` on arrays; jax compiles equal ones once."""

    compute: Compute
    dtypes: tuple[np.dtype[Any], ...]

    def __call__(self, *operands: jax.Array | None) -> tuple[NDArray[Any], ...]:
        found = self.compute(
            *(None if x is None else torch.tensor(np.asarray(x)) for x in operands)
        )
        tables = (tensor.detach().numpy() for tensor in found)
        pairs = zip(tables, self.dtypes, strict=True)
        return tuple(table.astype(dtype, copy=False) for table, dtype in pairs)


def one_batch(
    structure: Structure, ndim: int, scores: Tensor, *tables: Tensor | None
) -> tuple[Size, list[Any]]:
    """The batch shape of `scores` (*batch, *parts), with parts of `ndim` dimensions; all tables.

    The tables, (*batch, ...) or None, get one batch dimension if `structure` takes no more.
    """
    given, batch = [scores, *tables], scores.shape[: scores.ndim - ndim]
    if structure.parts_ndim is not None:
        return batch, given
    count = len(batch)
    return batch, [
        None if table is None else table.reshape(batch.numel(), *table.shape[count:])
        for table in given
    ]


def real_dtype() -> np.dtype[Any]:
    """float64 if jax has it enabled, else float32."""
    return jax.dtypes.canonicalize_dtype(np.float64)


def whole_dtype() -> np.dtype[Any]:
    """int64 if jax has it enabled, else int32."""
    return jax.dtypes.canonicalize_dtype(np.int64)
