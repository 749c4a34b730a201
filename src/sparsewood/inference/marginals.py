"""The distribution over all structures: partition function, marginals, entropy, exact samples."""

import math

import torch
from torch import Tensor

from sparsewood.distribution import StructureDistribution
from sparsewood.inference._check import (
    check_finite,
    check_input,
    check_positive,
    check_temperature,
    no_structure_left,
)
from sparsewood.structures.base import Structure
from sparsewood.structures.recursions import FORBIDDEN
from sparsewood.structures.recursions.totals import is_empty


def marginals(
    scores: Tensor,
    structure: Structure,
    *,
    lengths: Tensor | None = None,
    temperature: float | Tensor = 1.0,
) -> StructureDistribution:
    r"""The distribution over all of `structure` for each instance of a batch.

        p(h) = exp <theta, m(h)> / Z,   Z = sum_h exp <theta, m(h)>,   theta = scores / temperature

    with the 0/1 parts `m(h)` of a structure. `Z` is computed exactly, in float64, by the recursion
    of the family (forward, inside, matrix-tree theorem); the marginals are its gradient.

    Args:
        scores: (B, *parts), floating; see the structure for what the parts are. -inf forbids a
            part. Parts that the structure does not read, padding among them, may hold anything.
        structure: the family of structures, such as `DependencyTrees()`.
        lengths: the size of each instance, as the structure wants it. Default: all have full size.
        temperature: a positive number, or (B,) one per instance; differentiable.

    Returns:
        A `StructureDistribution` with `log_partition`, `marginals`, `entropy()`, `log_prob(h)`,
        `sample(n)`, `mode`; differentiable with respect to `scores` and `temperature`.

    Raises:
        ValueError: bad shapes, dtypes or lengths; NaN or +inf among the scores that are read; an
            instance that has no structure left; a family over which no sum is known.

    Example:
        >>> dist = sp.marginals(torch.zeros(1, 2, 3), sp.DependencyTrees())
        >>> round(dist.log_partition.exp().item())  # two words have three trees
        3
    """
    lengths = check_input(scores, structure, lengths)
    temperature = check_temperature(temperature, scores)
    if isinstance(temperature, Tensor) and not torch.compiler.is_compiling():
        check_positive(temperature)
    has_graph = torch.is_grad_enabled() and (
        scores.requires_grad or (isinstance(temperature, Tensor) and temperature.requires_grad)
    )
    reads = structure.reads(scores, lengths)
    theta = potentials(scores, reads, temperature)
    with torch.enable_grad():
        if not has_graph:
            theta = theta.detach().requires_grad_()
        log_partition, parts = structure.sums(theta, lengths)
    _check_result(log_partition, scores, reads)
    return StructureDistribution(structure, scores, lengths, theta, log_partition, parts, has_graph)


def potentials(scores: Tensor, reads: Tensor, temperature: float | Tensor) -> Tensor:
    """`scores / temperature` in float64; FORBIDDEN for parts that are forbidden or never read."""
    theta = torch.where(reads, scores, -torch.inf).double()
    if not isinstance(temperature, Tensor):
        return (theta if temperature == 1.0 else theta / temperature).clamp_(min=FORBIDDEN)
    usable = theta != -torch.inf
    shape = (-1, *[1] * (scores.ndim - 1))
    # -inf must not reach the gradient of the temperature.
    theta = torch.where(usable, theta, 0.0) / temperature.double().view(shape)
    return torch.where(usable, theta, FORBIDDEN)


def _check_result(log_partition: Tensor, scores: Tensor, reads: Tensor) -> None:
    """NaN and +inf among the scores show in the sum, so one look at that is enough."""
    if torch.compiler.is_compiling():
        return  # a graph cannot branch on values
    if FORBIDDEN / 2 < float(log_partition.detach().sum()) < math.inf:
        return
    check_finite(scores, reads)
    raise no_structure_left(int(is_empty(log_partition).nonzero()[0]), scores)
