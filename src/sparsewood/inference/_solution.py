"""The result of a SparseMAP solver for a batch."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor


class Solution(NamedTuple):
    """T structures of B instances.

    The custom op returns its results in the order of these fields; solvers fill them by name. Only
    the first two are differentiable.
    """

    weights: Tensor  # (T,), dtype of the scores
    marginals: Tensor  # (B, *parts), dtype of the scores
    structures: Tensor  # (T, *event) int64; (T, 0) if they are the 0/1 tables of `used`
    sizes: Tensor  # (B,) int64
    gap: Tensor  # (B,) float64
    status: Tensor  # (B,) int64, codes of `Status`
    factor: Tensor  # (*) float64, packed Cholesky factors of each K in `_derivatives`
    used: Tensor  # (T, *) int64, the parts of each structure as flat indices, -1 after the last;
    # if parts are numbers, (T, P) float64, their values
    calls: Tensor  # (B,) int64, number of oracle calls
    canonical: Tensor  # (B,) bool, whether the weights are canonical
    temperature: Tensor  # (B,) float64, temperature of the answer
    tie: (
        Tensor  # (B, *), parts of the structure that would enter next, as in `used`; else -1 or NaN
    )


def new_solution(
    scores: Tensor,
    event: Sequence[int],
    count: int = 0,
    packed: int = 0,
    used: int = 0,
    tie: int = 0,
) -> Solution:
    """An uninitialised solution: `count` structures for scores (B, *parts)."""
    batch = scores.shape[0]
    whole = partial(scores.new_empty, dtype=torch.int64)
    real = partial(scores.new_empty, dtype=torch.float64)
    return Solution(
        weights=scores.new_empty(count),
        marginals=scores.new_empty(scores.shape),
        structures=whole((count, *event)),
        sizes=whole(batch),
        gap=real(batch),
        status=whole(batch),
        factor=real(packed),
        used=whole((count, used)),
        calls=whole(batch),
        canonical=scores.new_empty(batch, dtype=torch.bool),
        temperature=real(batch),
        tie=whole((batch, tie)),
    )
