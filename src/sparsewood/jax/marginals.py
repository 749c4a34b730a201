"""The distribution over all structures, on jax arrays."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from torch import Tensor

from sparsewood import distribution
from sparsewood._internal.batch import BatchShape
from sparsewood.inference import marginals as _marginals
from sparsewood.inference._check import check_positive
from sparsewood.jax._check import check_given
from sparsewood.jax._derivatives import with_slope
from sparsewood.jax._host import one_batch
from sparsewood.structures.base import Structure


class StructureDistribution(NamedTuple):
    """The Gibbs distribution over all structures of each instance of a batch."""

    log_partition: jax.Array  # (*batch,)
    marginals: jax.Array  # (*batch, *parts)


def marginals(
    scores: jax.Array,
    structure: Structure,
    *,
    lengths: jax.Array | None = None,
    temperature: float | jax.Array = 1.0,
) -> StructureDistribution:
    """The log-partition function and the marginals of all structures: `sparsewood.marginals`.

    Args:
        scores: (*batch, *parts), floating; -inf forbids a part. Parts that the structure does not
            read, such as padding, may hold any value.
        structure: the family of structures, such as `sparsewood.DependencyTrees()`.
        lengths: integers (*batch,) or (*batch, d), the size of each instance; as for
            `sparsewood.sparsemap`. Default: all have full size.
        temperature: a positive number, or (*batch,) one per instance; differentiable.

    Returns:
        `log_partition` (*batch,) and `marginals` (*batch, *parts) in the dtype of `scores`, with
        derivatives of any order in reverse mode. Forward mode raises TypeError.

    Raises:
        ValueError: as `sparsewood.marginals`; in compiled functions, errors that depend on values
            are a `jax.errors.JaxRuntimeError` with the same text.

    Example:
        >>> import jax.numpy as jnp
        >>> import sparsewood.jax as spj
        >>> dist = spj.marginals(jnp.zeros((1, 2, 3)), sp.DependencyTrees())
        >>> round(float(jnp.exp(dist.log_partition[0])))  # two words have three trees
        3
    """
    given = check_given(scores, structure, lengths, temperature)
    # -inf and NaN must not reach the gradient of the temperature.
    finite = jnp.isfinite(given.scores)
    divisor = given.temperature[(..., *[None] * given.ndim)]
    theta = jnp.where(finite, jnp.where(finite, given.scores, 0) / divisor, given.scores)
    rest = given.lengths, jax.lax.stop_gradient(given.temperature)
    found = with_slope(_LogPartition(structure, given.ndim), theta, rest)
    return StructureDistribution(*(table.astype(given.dtype) for table in found))


@dataclass(frozen=True)
class _LogPartition:
    structure: Structure
    ndim: int  # dimensions of the parts

    def __call__(self, theta: Tensor, lengths: Tensor | None, temperature: Tensor) -> Tensor:
        """The log-partition function of `theta`, which is divided by `temperature` already."""
        batch = theta.shape[: theta.ndim - self.ndim]
        return self._distribution(theta, lengths, temperature).log_partition.reshape(batch)

    def with_slope(
        self, theta: Tensor, lengths: Tensor | None, temperature: Tensor
    ) -> tuple[Tensor, Tensor]:
        batch = theta.shape[: theta.ndim - self.ndim]
        dist = self._distribution(theta, lengths, temperature)
        return dist.log_partition.reshape(batch), dist.marginals.reshape(theta.shape)

    def _distribution(
        self, theta: Tensor, lengths: Tensor | None, temperature: Tensor
    ) -> distribution.StructureDistribution:
        batch, (theta, lengths) = one_batch(self.structure, self.ndim, theta, lengths)
        with BatchShape(batch):
            check_positive(temperature.flatten())
        return _marginals(theta, self.structure, lengths=lengths)
