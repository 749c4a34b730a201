"""The distribution over all structures: partition function, marginals, entropy, exact samples."""

from typing import Any

import torch
from torch import Tensor

from sparsewood.distribution import StructureDistribution
from sparsewood.inference._check import (
    LARGEST,
    check_finite,
    check_input,
    check_magnitude,
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
    has_graph = torch.is_grad_enabled() and (
        scores.requires_grad or (isinstance(temperature, Tensor) and temperature.requires_grad)
    )
    reads = structure.reads(scores, lengths)
    with torch.set_grad_enabled(has_graph):
        usable = reads & (scores != -torch.inf)
        values = potentials(scores, usable, temperature)
        if not torch.compiler.is_compiling():
            check_values(values, scores, reads, temperature)
        shifted = structure.shift(torch.where(usable, values, FORBIDDEN), lengths)
    steps = shifted.scores if has_graph else shifted.scores.detach().requires_grad_()
    with torch.enable_grad():
        log_sums, parts = structure.sums(steps, lengths)
        if torch.compiler.is_compiling():
            log_sums = check_sums(log_sums, values, scores, reads, _as_tensor(temperature))
        else:
            _check_any_left(log_sums, scores)
    return StructureDistribution(
        structure, scores, lengths, steps, shifted.shared, log_sums, parts, has_graph
    )


def potentials(scores: Tensor, usable: Tensor, temperature: float | Tensor) -> Tensor:
    """`scores / temperature` in float64; 0 where they are not `usable`."""
    theta = torch.where(usable, scores, 0.0).double()
    if not isinstance(temperature, Tensor):
        return theta if temperature == 1.0 else theta / temperature
    return theta / temperature.double().view(-1, *[1] * (scores.ndim - 1))


def check_values(
    values: Tensor, scores: Tensor, reads: Tensor, temperature: float | Tensor | None
) -> None:
    """ValueError unless `potentials` are finite, and not so large that sums of them are not."""
    if isinstance(temperature, Tensor):
        check_positive(temperature)
    if len(values) == 0:
        return
    low, high = values.detach().aminmax()
    if not -LARGEST <= float(low) <= float(high) <= LARGEST:  # NaN is in no order
        check_finite(scores, reads)
        check_magnitude(values, reads)


def _check_any_left(log_sums: Tensor, scores: Tensor) -> None:
    empty = is_empty(log_sums.detach())
    if empty.any():
        raise no_structure_left(int(empty.nonzero()[0]), scores)


def _as_tensor(temperature: float | Tensor) -> Tensor | None:
    return temperature if isinstance(temperature, Tensor) else None


@torch.library.custom_op("sparsewood::check_sums", mutates_args=())
def check_sums(
    log_sums: Tensor, values: Tensor, scores: Tensor, reads: Tensor, temperature: Tensor | None
) -> Tensor:
    """A copy of `log_sums` (B,), once all is checked: a graph cannot branch on values itself."""
    check_values(values, scores, reads, temperature)
    _check_any_left(log_sums, scores)
    return log_sums.clone()


@check_sums.register_fake
def _(
    log_sums: Tensor, values: Tensor, scores: Tensor, reads: Tensor, temperature: Tensor | None
) -> Tensor:
    return torch.empty_like(log_sums)


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
    return grad, None, None, None, None


check_sums.register_autograd(_backward)
