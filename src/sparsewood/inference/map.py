"""MAP inference: the best structure of each instance."""

from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood._internal.batch import BatchShape
from sparsewood._internal.transforms import is_transformed
from sparsewood.calls import count
from sparsewood.inference._check import check_input, no_structures
from sparsewood.inference._checked import checked_scores, checked_totals
from sparsewood.inference._gold import total
from sparsewood.structures.base import NativeStructure, Structure


class Best(NamedTuple):
    """The highest scoring structure of each instance."""

    structures: Tensor  # (*batch, *event) int64
    scores: Tensor  # (*batch,)


def map(scores: Tensor, structure: Structure, *, lengths: Tensor | None = None) -> Best:
    r"""The highest scoring structure of each instance, `argmax_h <scores, m(h)>`, and its score.

    The result has no gradient: use `sparsemap` or `marginals` for a differentiable result, and
    `perceptron_loss` to train with MAP structures.

    Args:
        scores: (*batch, *parts), floating; as for `sparsemap`.
        structure: the family of structures.
        lengths: (*batch,) or (*batch, d), the size of each instance; as for `sparsemap`.

    Returns:
        Structures (*batch, *event) and their scores (*batch,). Scores are summed in float64 and
        rounded to the dtype of `scores`, where large sums may overflow to infinity in 16-bit
        dtypes.

    Raises:
        ValueError: as for `sparsemap`.

    Example:
        >>> best = sp.map(torch.tensor([[[3.0, 1.0], [2.0, 2.5]]]), sp.Matching())
        >>> best.structures.tolist(), best.scores.tolist()
        ([[0, 1]], [5.5])
    """
    batch, scores, lengths = check_input(scores, structure, lengths)
    with batch:
        best = _map(scores.detach(), structure, lengths, batch)
    return Best(*(batch.restore(table) for table in best))


def _map(scores: Tensor, structure: Structure, lengths: Tensor | None, batch: BatchShape) -> Best:
    """`map` for one batch dimension; `batch` is for indices in errors of compiled graphs."""
    if len(scores) == 0:
        return Best(no_structures(scores, structure), scores.new_zeros(0))
    if isinstance(structure, NativeStructure) and not is_transformed(scores):
        best = structure.best(scores, lengths)
        if best is not None:
            count("map", len(scores))
            return Best(best.structures, best.scores.to(scores.dtype))
    scores = checked_scores(scores, structure.reads(scores, lengths), batch)
    count("map", len(scores))
    if isinstance(structure, NativeStructure) and torch.compiler.is_compiling():
        structures = structure.argmax_in_graph(scores.double(), lengths, batch.shape)
    else:
        takes_float = isinstance(structure, NativeStructure) and scores.dtype == torch.float32
        structures = structure.argmax(scores if takes_float else scores.double(), lengths)
    totals = checked_totals(total_scores(scores, structures, structure), scores, batch)
    return Best(structures, totals.to(scores.dtype))


def total_scores(scores: Tensor, structures: Tensor, structure: Structure) -> Tensor:
    """`<scores, m(h)>` of one structure per instance, (B,) float64.

    Parts that a structure does not use may hold any value. The result is -inf only if it uses a
    forbidden part.
    """
    parts = structure.indicator(structures, tuple(scores.shape[1:]))
    totals = total(scores.double(), parts)
    if structure.binary:
        return totals
    forbidden = ((parts != 0) & (scores == -torch.inf)).flatten(1).any(-1)  # even if negative
    return totals.masked_fill(forbidden, -torch.inf)
