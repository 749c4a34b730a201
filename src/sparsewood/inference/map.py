"""MAP inference: the best structure of each instance."""

from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood._transforms import is_transformed
from sparsewood.calls import count
from sparsewood.inference._check import (
    check_input,
    check_values,
    no_structure_left,
    no_structures,
)
from sparsewood.inference._gold import total
from sparsewood.structures.base import NativeStructure, Structure


class Best(NamedTuple):
    """The highest scoring structure of each instance."""

    structures: Tensor  # (*batch, *event) int64
    scores: Tensor  # (*batch,)


def map(scores: Tensor, structure: Structure, *, lengths: Tensor | None = None) -> Best:
    r"""The highest scoring structure of each instance, `argmax_h <scores, m(h)>`, and its score.

    There is no gradient: see `sparsemap` and `marginals` for that, and `perceptron_loss` to learn
    from it.

    Args:
        scores: (*batch, *parts), floating; as for `sparsemap`.
        structure: the family of structures.
        lengths: (*batch,) or (*batch, d), the size of each instance.

    Returns:
        Structures (*batch, *event) and their scores (*batch,), summed in float64 and rounded to the
        dtype of `scores`: a sum that a 16-bit dtype cannot hold is infinite there.

    Raises:
        ValueError: as for `sparsemap`.

    Example:
        >>> best = sp.map(torch.tensor([[[3.0, 1.0], [2.0, 2.5]]]), sp.Matching())
        >>> best.structures.tolist(), best.scores.tolist()
        ([[0, 1]], [5.5])
    """
    batch, scores, lengths = check_input(scores, structure, lengths)
    with batch:
        best = _map(scores.detach(), structure, lengths)
    return Best(*(batch.restore(table) for table in best))


def _map(scores: Tensor, structure: Structure, lengths: Tensor | None) -> Best:
    """The same of one batch dimension."""
    if len(scores) == 0:
        return Best(no_structures(scores, structure), scores.new_zeros(0))
    if isinstance(structure, NativeStructure) and not is_transformed(scores):
        best = structure.best(scores, lengths)
        if best is not None:
            count("map", len(scores))
            return Best(best.structures, best.scores.to(scores.dtype))
    check_values(scores, structure.reads(scores, lengths))
    count("map", len(scores))
    structures = structure.argmax(scores.double(), lengths)
    totals = total_scores(scores, structures, structure)
    if (totals == -torch.inf).any():
        raise no_structure_left(int((totals == -torch.inf).nonzero()[0]), scores)
    return Best(structures, totals.to(scores.dtype))


def total_scores(scores: Tensor, structures: Tensor, structure: Structure) -> Tensor:
    """`<scores, m(h)>` of one structure per instance, (B,) float64.

    Parts that a structure does not use may hold anything. Only a forbidden part gives -inf.
    """
    parts = structure.indicator(structures, tuple(scores.shape[1:]))
    return total(scores.double(), parts)
