"""The distribution over all structures: partition function, marginals, entropy, exact samples."""

import torch
from torch import Tensor

from sparsewood._internal.transforms import is_transformed, outside_inference_mode
from sparsewood.calls import count
from sparsewood.distribution import PartSums, StructureDistribution, sums_by_steps
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
        count("sums", len(flat))
        with torch.set_grad_enabled(has_graph and torch.is_grad_enabled()):
            theta = potentials(flat, reads, temperature)
            direct = None if torch.compiler.is_compiling() else structure.part_sums(theta, lengths)
        if direct is not None:
            check_result(direct[0], flat, reads)
            sums = PartSums(theta, *direct)
        else:
            sums = sums_by_steps(structure, theta, lengths, has_graph)
            if torch.compiler.is_compiling():
                checked_sums = checked(sums.log_partition, flat, reads, temperature, batch)
                sums = sums._replace(log_partition=checked_sums)
            else:
                check_result(sums.log_partition, flat, reads)
    given = None if lengths is None else batch.restore(lengths)
    return StructureDistribution(structure, scores, given, batch, sums, has_graph)
