"""MAP inference on jax arrays."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
from torch import Tensor

from sparsewood.inference import map as _map
from sparsewood.jax._check import check_given
from sparsewood.jax._host import on_host, one_batch, whole_dtype
from sparsewood.structures.base import Structure


class Best(NamedTuple):
    """The highest scoring structure of each instance."""

    structures: jax.Array  # (*batch, *event) int64, or int32 if jax has no int64
    scores: jax.Array  # (*batch,)


def map(scores: jax.Array, structure: Structure, *, lengths: jax.Array | None = None) -> Best:
    """The highest scoring structure of each instance and its score: `sparsewood.map`.

    The result has no gradient.

    Args:
        scores: (*batch, *parts), floating; -inf forbids a part. Parts that the structure does not
            read, such as padding, may hold any value.
        structure: the family of structures, such as `sparsewood.DependencyTrees()`.
        lengths: integers (*batch,) or (*batch, d), the size of each instance; as for
            `sparsewood.sparsemap`. Default: all have full size.

    Returns:
        Structures (*batch, *event) and their scores (*batch,) in the dtype of `scores`.

    Raises:
        ValueError: as `sparsewood.map`; in compiled functions, errors that depend on values are a
            `jax.errors.JaxRuntimeError` with the same text.

    Example:
        >>> import jax.numpy as jnp
        >>> import sparsewood.jax as spj
        >>> best = spj.map(jnp.array([[[3.0, 1.0], [2.0, 2.5]]]), sp.Matching())
        >>> best.structures.tolist(), best.scores.tolist()
        ([[0, 1]], [5.5])
    """
    given = check_given(scores, structure, lengths)
    table = jax.lax.stop_gradient(given.scores)
    results = (
        jax.ShapeDtypeStruct((*given.batch, *given.event), whole_dtype()),
        jax.ShapeDtypeStruct(given.batch, table.dtype),
    )
    structures, totals = on_host(_Map(structure, given.ndim), results, table, given.lengths)
    return Best(structures, totals.astype(given.dtype))


@dataclass(frozen=True)
class _Map:
    structure: Structure
    ndim: int  # dimensions of the parts

    def __call__(self, scores: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
        batch, (scores, lengths) = one_batch(self.structure, self.ndim, scores, lengths)
        best = _map(scores, self.structure, lengths=lengths)
        event = best.structures.shape[best.scores.ndim :]
        return best.structures.reshape((*batch, *event)), best.scores.reshape(batch)
