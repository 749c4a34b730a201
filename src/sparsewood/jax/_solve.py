r"""SparseMAP as a differentiable function of jax arrays.

With the parts M of the support, the posterior is affine around a solution (see `_derivatives` of
`sparsewood.inference`):

    d weights = J M^T d theta,     d marginals = M d weights,     theta = scores / temperature

The solve on the host also returns the parts of M and R with `J = R^T R`. The rest is jax, which
differentiates it in both modes and as often as needed, without further calls.
"""

from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import Tensor

from sparsewood.inference._options import Options
from sparsewood.inference._solution import Solution
from sparsewood.inference.sparsemap import part_lists, solved
from sparsewood.jax._host import on_host, one_batch, real_dtype, whole_dtype
from sparsewood.jax.posterior import SparsePosterior
from sparsewood.structures.base import Structure


class Support(NamedTuple):
    """What derivatives need: M as indices of parts, (*batch, k, width), P after the last; and R."""

    used: jax.Array
    root: jax.Array  # (*batch, k, k)


class Found(NamedTuple):
    """A posterior in the dtype of the solver, and its support if asked for."""

    posterior: SparsePosterior
    support: Support | None


@dataclass(frozen=True)
class Task:
    """SparseMAP on the host, with at most `k` structures per instance."""

    structure: Structure
    options: Options
    parts: tuple[int, ...]
    event: tuple[int, ...]
    derivatives: bool = False  # whether to return the support

    @property
    def k(self) -> int:
        return self.options.max_active or self.options.max_support or 0

    @property
    def width(self) -> int:
        """A bound on the number of parts of a structure.

        An entry of the encoding of a native family decides at most two parts, such as the state of
        a chain and the transition into it.
        """
        count = prod(self.parts)
        return min(count, 2 * prod(self.event)) if self.structure.has_native_solver else count

    def results(self, batch: tuple[int, ...], dtype: Any) -> tuple[jax.ShapeDtypeStruct, ...]:
        """The shapes and dtypes of the results, in the order of `SparsePosterior`, `Support`."""
        k, real, whole = self.k, real_dtype(), whole_dtype()
        shapes = [
            ((k, *self.event), whole),
            ((k,), dtype),
            ((), whole),
            (self.parts, dtype),
            ((), real),
            ((), whole),
            ((), whole),
            ((), np.dtype(bool)),
            ((), real),
        ]
        if self.derivatives:
            shapes += [((k, self.width), whole), ((k, k), real)]
        return tuple(jax.ShapeDtypeStruct((*batch, *shape), kind) for shape, kind in shapes)

    def __call__(
        self, scores: Tensor, lengths: Tensor | None, temperature: Tensor
    ) -> tuple[Tensor, ...]:
        batch, given = one_batch(self.structure, len(self.parts), scores, lengths, temperature)
        scores, lengths, temperature = given
        with torch.no_grad():
            _, found = solved(scores, self.structure, lengths, temperature, self.options)
            tables = self._padded(found)
        return tuple(table.reshape((*batch, *table.shape[1:])) for table in tables)

    def _padded(self, found: Solution) -> list[Tensor]:
        """The results with one batch dimension."""
        rank = torch.arange(self.k)
        inside = rank < found.sizes[:, None]
        first = found.sizes.cumsum(0) - found.sizes
        index = first[:, None] + torch.where(inside, rank, 0)
        listed = part_lists(found, self.structure, self.parts)
        tables = [
            found.structures[index] if listed is None else listed[index].tables(),
            torch.where(inside, found.weights[index], 0),
            found.sizes,
            found.marginals,
            found.gap,
            found.status,
            found.calls,
            found.canonical,
            found.temperature,
        ]
        if self.derivatives:
            used = found.used.new_full((len(found.used), self.width), -1)
            used[:, : found.used.shape[1]] = found.used
            used = torch.where(used < 0, prod(self.parts), used)
            tables += [used[index], roots(found.factor, found.sizes, self.k)]
        return tables


def roots(factor: Tensor, sizes: Tensor, k: int) -> Tensor:
    """R with `J = R^T R` for each instance, (B, k, k), from packed factors of K = L L^T.

    With `y = L^-1 1` it is `R = (I - y y^T / (y^T y)) L^-1`, since the projection is its own
    square; zero beyond the support.
    """
    width = max(sizes.tolist(), default=1)
    inside = torch.arange(width) < sizes[:, None]
    lower = torch.eye(width, dtype=factor.dtype).repeat(len(sizes), 1, 1)
    lower[(inside[:, :, None] & inside[:, None]).tril()] = factor
    lower.diagonal(dim1=1, dim2=2).reciprocal_()  # the diagonal is stored inverted
    inverse = torch.linalg.solve_triangular(
        lower, torch.eye(width, dtype=factor.dtype), upper=False
    )
    inverse = inverse * inside[:, None]
    y = inverse.sum(-1, keepdim=True)
    root = inverse - y @ (y.mT @ inverse) / y.square().sum(1, keepdim=True)
    return torch.nn.functional.pad(root, (0, k - width, 0, k - width))


def _solve(
    task: Task, scores: jax.Array, lengths: jax.Array | None, temperature: jax.Array
) -> Found:
    """SparseMAP of scores (*batch, *parts), float32 or float64, at temperatures (*batch,)."""
    results = task.results(temperature.shape, scores.dtype)
    found = on_host(task, results, scores, lengths, temperature)
    count = len(SparsePosterior._fields)
    support = Support(*found[count:]) if task.derivatives else None
    return Found(SparsePosterior(*found[:count]), support)


solve = jax.custom_jvp(_solve, nondiff_argnums=(0,))


@solve.defjvp
def _(task: Task, primals: Any, tangents: Any) -> tuple[Found, Found]:
    scores, _, temperature = primals
    found = solve(replace(task, derivatives=True), *primals)
    weights, marginals = _tangents(found, scores, temperature, tangents[0], tangents[2])
    still = jax.tree.map(_zero, found)
    moves = still.posterior._replace(weights=weights, marginals=marginals)
    moves = still._replace(posterior=moves)
    if task.derivatives:
        return found, moves
    return found._replace(support=None), moves._replace(support=None)


def _tangents(
    found: Found,
    scores: jax.Array,
    temperature: jax.Array,
    on_scores: jax.Array,
    on_temperature: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """The tangents of the weights (*batch, k) and of the marginals (*batch, *parts)."""
    assert found.support is not None
    used, root = found.support
    batch, real = temperature.shape, root.dtype
    count = prod(scores.shape[len(batch) :])

    def of_structures(table: jax.Array) -> jax.Array:
        """M^T on a table of parts: the sum over the parts of each structure, (*batch, k)."""
        flat = table.reshape(*batch, 1, count).astype(real)
        return jnp.take_along_axis(flat, used, -1, mode="fill", fill_value=0).sum(-1)

    # Where the solver lowered the temperature, the one it found is a constant.
    end = found.posterior.temperature.astype(temperature.dtype)
    lowered = end < temperature
    divisor = jnp.where(lowered, end, temperature).astype(real)[..., None]
    widening = jnp.where(lowered, 0, on_temperature).astype(real)[..., None]
    along = of_structures(on_scores) - of_structures(scores) / divisor * widening
    product = partial(jnp.einsum, precision="highest")
    moved = product("...ij,...j->...i", root, along / divisor)
    weights = product("...ji,...j->...i", root, moved)
    rows = jnp.arange(prod(batch))[:, None, None]
    columns = used.reshape(len(rows), *used.shape[-2:])
    spread = jnp.broadcast_to(weights[..., None], used.shape).reshape(columns.shape)
    marginals = jnp.zeros((len(rows), count), real).at[rows, columns].add(spread, mode="drop")
    dtype = scores.dtype
    return weights.astype(dtype), marginals.reshape(scores.shape).astype(dtype)


def _zero(table: jax.Array) -> Any:
    """The zero tangent of an array."""
    if jnp.issubdtype(table.dtype, jnp.floating):
        return jnp.zeros_like(table)
    return np.zeros(table.shape, jax.dtypes.float0)
