"""The distribution over all structures: partition function, marginals, entropy, exact samples."""

import torch
from torch import Tensor

from sparsewood._transforms import check_not_mapped, is_transformed
from sparsewood.distribution import StructureDistribution
from sparsewood.inference._check import check_input, check_temperature
from sparsewood.inference._check_sums import check_potentials, check_result, checked
from sparsewood.structures.base import Structure
from sparsewood.structures.recursions import FORBIDDEN


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
    inputs = [scores, *([temperature] if isinstance(temperature, Tensor) else [])]
    for x in inputs:
        check_not_mapped("marginals", x)
    has_graph = any(map(is_transformed, inputs)) or (
        torch.is_grad_enabled() and any(x.requires_grad for x in inputs)
    )
    reads = structure.reads(scores, lengths)
    if not torch.compiler.is_compiling():
        check_potentials(scores, reads, temperature)
    with torch.set_grad_enabled(has_graph and torch.is_grad_enabled()):
        shifted = structure.shift(potentials(scores, reads, temperature), lengths)
    steps = shifted.scores if has_graph else shifted.scores.detach().requires_grad_()
    with torch.set_grad_enabled(not has_graph or torch.is_grad_enabled()):
        log_sums, parts = structure.sums(steps, lengths)
        if torch.compiler.is_compiling():
            log_sums = checked(log_sums, scores, reads, temperature)
        else:
            check_result(log_sums, scores, reads)
    return StructureDistribution(
        structure, scores, lengths, steps, shifted.shared, log_sums, parts, has_graph
    )


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
