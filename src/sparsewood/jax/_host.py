"""PyTorch code on the values of jax arrays.

XLA calls it back. On the CPU this is a `buffer_callback`, which reads and writes the memory of XLA.
`jax.pure_callback` would copy the arguments to new arrays on threads that may all be waiting for
callbacks: with one core and large arrays it never returns. Handlers for `jax.ffi` would save some
ten microseconds per call, but the build would need the headers of jaxlib, and all checks of values
would have to be written a second time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax.core import Tracer
from jax.experimental.buffer_callback import buffer_callback
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
    given = tuple(operand is not None for operand in operands)
    call = _OnArrays(compute, given, tuple(np.dtype(result.dtype) for result in results))
    arrays = [operand for operand in operands if operand is not None]
    if not any(isinstance(array, Tracer) for array in arrays):
        return tuple(jnp.asarray(table) for table in call(*arrays))
    method: Any = {"vmap_method": "broadcast_all"}
    return jax.lax.platform_dependent(
        *arrays,
        cpu=buffer_callback(_OnBuffers(call), results, **method),
        default=lambda *arrays: jax.pure_callback(call, results, *arrays, **method),
    )


@dataclass(frozen=True)
class _OnArrays:
    """`compute` on arrays, without the operands that are None; jax compiles equal ones once."""

    compute: Compute
    given: tuple[bool, ...]  # which operands are not None
    dtypes: tuple[np.dtype[Any], ...]

    def __call__(self, *arrays: Any) -> tuple[NDArray[Any], ...]:
        left = iter(arrays)
        operands = (torch.tensor(np.asarray(next(left))) if is_ else None for is_ in self.given)
        tables = (tensor.detach().numpy() for tensor in self.compute(*operands))
        pairs = zip(tables, self.dtypes, strict=True)
        return tuple(table.astype(dtype, copy=False) for table, dtype in pairs)


@dataclass(frozen=True)
class _OnBuffers:
    """The same on memory of XLA."""

    call: _OnArrays

    def __call__(self, context: Any, results: Sequence[Any], *arrays: Any) -> None:
        for result, table in zip(results, self.call(*arrays), strict=True):
            np.asarray(result)[...] = table


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
