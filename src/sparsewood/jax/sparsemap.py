"""SparseMAP on jax arrays, with a fixed number of structures."""

import jax

from sparsewood.inference._options import Weights, check_options
from sparsewood.jax._check import check_given
from sparsewood.jax._solve import Task, solve
from sparsewood.jax.posterior import SparsePosterior
from sparsewood.structures.base import Structure


def sparsemap(
    scores: jax.Array,
    structure: Structure,
    *,
    lengths: jax.Array | None = None,
    temperature: float | jax.Array = 1.0,
    tol: float = 1e-9,
    max_active: int | None = None,
    max_iter: int | None = None,
    max_support: int | None = None,
    weights: Weights = "solver",
) -> SparsePosterior:
    """The SparseMAP posterior over `structure` for each instance: `sparsewood.sparsemap`.

    jax must know the shapes of a result: `max_active` or `max_support` gives the number `k` of
    structures.

    Args:
        scores: (*batch, *parts), floating; -inf forbids a part. Parts that the structure does not
            read, such as padding, may hold any value.
        structure: the family of structures, such as `sparsewood.DependencyTrees()`.
        lengths: integers (*batch,) or (*batch, d), the size of each instance; as for
            `sparsewood.sparsemap`. Default: all have full size.
        temperature: a positive number, or (*batch,) one per instance; differentiable. Lower
            temperatures give sparser posteriors.
        tol: tolerance on the duality gap, as for `sparsewood.sparsemap`.
        max_active: maximum number of structures to keep. If more were needed, the weights are
            optimal on those kept, and `status` is CAPPED.
        max_iter: maximum number of quadratic programs; needs `max_active`.
        max_support: maximum number of structures, reached by lowering the temperature. Derivatives
            treat the temperature found as a constant.
        weights: "solver", or "canonical": a continuous function of the scores; needs
            `max_support`.

    Returns:
        A `SparsePosterior`, a pytree. Weights and marginals have the dtype of `scores`, and
        derivatives of any order in forward and in reverse mode.

    Raises:
        ValueError: as `sparsewood.sparsemap`; in compiled functions, errors that depend on values
            are a `jax.errors.JaxRuntimeError` with the same text.

    Example:
        >>> import jax.numpy as jnp
        >>> import sparsewood.jax as spj
        >>> scores = jnp.array([[[1.5, 0.0, 1.0], [0.0, 1.0, 0.0]]])
        >>> post = spj.sparsemap(scores, sp.DependencyTrees(), max_active=3)
        >>> post.structures[0].tolist(), post.weights[0].tolist()
        ([[0, 1], [2, 0], [0, 1]], [0.875, 0.125, 0.0])
    """
    options = check_options(tol, max_active, max_iter, max_support, weights)
    if max_active is None and max_support is None:
        raise ValueError(
            "sparsemap: expected max_active or max_support, the number of structures of the "
            "result, which jax must know before the scores; got neither"
        )
    if options.canonical and max_support is None:
        raise ValueError(
            f'weights="canonical" with max_active={max_active}: canonical weights may be on more '
            "structures; use max_support"
        )
    given = check_given(scores, structure, lengths, temperature)
    task = Task(structure, options, given.parts, given.event)
    found = solve(task, given.scores, given.lengths, given.temperature).posterior
    soft = found.weights.astype(given.dtype), found.marginals.astype(given.dtype)
    return found._replace(weights=soft[0], marginals=soft[1])
