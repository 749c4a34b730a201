"""The distribution over all structures: partition function, marginals, entropy, exact samples."""

import torch
from torch import Tensor

from sparsewood._internal.transforms import is_transformed, outside_inference_mode
from sparsewood.calls import count
from sparsewood.distribution import StructureDistribution
from sparsewood.inference._check import check_input, check_temperature
from sparsewood.inference._check_sums import check_result, checked, potentials
from sparsewood.structures.base import Structure


@outside_inference_mode
def marginals(
    scores: Tensor,
    structure: Structure,
    *,
    lengths: Tensor | None = None,
    temperature: float | Tensor = 1.0,
) -> StructureDistribution:
    r"""The distribution over all structures of a family, for each instance of a batch.

        p(h) = exp <theta, m(h)> / Z,   Z = sum_h exp <theta, m(h)>,   theta = scores / temperature

    with the parts `m(h)` of a structure. `Z` is computed exactly, in float64, by the recursion
    of the family (forward, inside, matrix-tree theorem). The marginals are the gradient of `log Z`.

    Args:
        scores: (*batch, *parts), floating; the structure defines the parts. -inf forbids a part.
            Parts that the structure does not read, such as padding, may hold any value.
        structure: the family of structures, such as `DependencyTrees()`.
        lengths: (*batch,) or (*batch, d), the size of each instance; as for `sparsemap`. Default:
            all have full size.
        temperature: a positive number, or (*batch,) one per instance; differentiable.

    Returns:
        A `StructureDistribution` with `log_partition`, `marginals`, `entropy()`, `log_prob(h)`,
        `sample(n)`, `mode`; differentiable with respect to `scores` and `temperature`.

    Raises:
        ValueError: bad shapes, dtypes or lengths; NaN or +inf among the scores that are read; an
            instance that has no structure left; a family without a recursion.

    Example:
        >>> dist = sp.marginals(torch.zeros(1, 2, 3), sp.DependencyTrees())
        >>> round(dist.log_partition.exp().item())  # two words have three trees
        3
    """
    batch, flat, lengths = check_input(scores, structure, lengths)
    temperature = check_temperature(temperature, flat, batch)
    inputs = [scores, *([temperature] if isinstance(temperature, Tensor) else [])]
    has_graph = any(map(is_transformed, inputs)) or (
        torch.is_grad_enabled() and any(x.requires_grad for x in inputs)
    )
    with batch:
        reads = structure.reads(flat, lengths)
        with torch.set_grad_enabled(has_graph and torch.is_grad_enabled()):
            shifted = structure.shift(potentials(flat, reads, temperature), lengths)
        steps = shifted.scores if has_graph else shifted.scores.detach().requires_grad_()
        with torch.set_grad_enabled(not has_graph or torch.is_grad_enabled()):
            count("sums", len(flat))
            log_sums, parts = structure.sums(steps, lengths)
            if torch.compiler.is_compiling():
                log_sums = checked(log_sums, flat, reads, temperature, batch)
            else:
                check_result(log_sums, flat, reads)
    given = None if lengths is None else batch.restore(lengths)
    return StructureDistribution(
        structure, scores, given, batch, steps, shifted.shared, log_sums, parts, has_graph
    )
