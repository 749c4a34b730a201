"""The posterior of SparseMAP with a fixed number of structures: a pytree of jax arrays."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from sparsewood.status import Status


class SparsePosterior(NamedTuple):
    """A distribution over at most `k` structures for each instance, with its certificate.

    `k` is `max_active` or `max_support`. An instance with fewer structures repeats its first one
    with weight 0. Integers are int64, or int32 if jax has no int64; likewise `gap` and
    `temperature` are float64 or float32.

    Attributes:
        structures: (*batch, k, *event) integers, the support.
        weights: (*batch, k) probabilities of the structures; differentiable.
        sizes: (*batch,) number of structures of each instance.
        marginals: (*batch, *parts) the probability of each part; differentiable.
        gap: (*batch,) the duality gap: the objective is within `gap` of its optimum.
        status: (*batch,) how each solve ended: the codes of `sparsewood.Status`.
        calls: (*batch,) number of calls of the MAP oracle.
        canonical: (*batch,) bool, whether the weights are canonical.
        temperature: (*batch,) the temperature of the solution.
    """

    structures: jax.Array
    weights: jax.Array
    sizes: jax.Array
    marginals: jax.Array
    gap: jax.Array
    status: jax.Array
    calls: jax.Array
    canonical: jax.Array
    temperature: jax.Array

    @property
    def converged(self) -> jax.Array:
        """(*batch,) bool: the gap certifies the requested accuracy; `status` is SOLVED."""
        return self.status == int(Status.SOLVED)

    @property
    def mode(self) -> jax.Array:
        """(*batch, *event): the structure with the largest weight of each instance."""
        axis = self.weights.ndim - 1
        ones = [None] * (self.structures.ndim - axis)
        best = self.weights.argmax(-1)[(..., *ones)]
        return jnp.take_along_axis(self.structures, best, axis).squeeze(axis)

    def expect(self, values: jax.Array) -> jax.Array:
        """The expectation of `values` (*batch, k, ...), one entry per structure: (*batch, ...).

        Differentiable with respect to the values and the weights.
        """
        ndim = self.weights.ndim
        if values.shape[:ndim] != self.weights.shape:
            shape = ", ".join(map(str, self.weights.shape))
            raise ValueError(
                f"expect: expected values of shape ({shape}, ...), one entry per structure, got "
                f"shape {values.shape}"
            )
        weights = self.weights[(..., *[None] * (values.ndim - ndim))]
        return (weights * values).sum(ndim - 1)
