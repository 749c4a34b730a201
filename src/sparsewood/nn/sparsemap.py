"""SparseMAP as a module."""

from typing import Any

from torch import Tensor, nn

from sparsewood import estimators
from sparsewood.estimators.base import Problem
from sparsewood.sparse_posterior import SparsePosterior
from sparsewood.structures.base import Structure


class SparseMAP(nn.Module):
    """`sparsewood.sparsemap` with fixed options: scores (*batch, *parts) -> `SparsePosterior`.

    Args:
        structure: the family of structures.
        options: the options of the estimator `sparsewood.SparseMAP`.
    """

    def __init__(self, structure: Structure, **options: Any) -> None:
        super().__init__()
        self.structure = structure
        self.estimator = estimators.SparseMAP(**options)

    def forward(self, scores: Tensor, lengths: Tensor | None = None) -> SparsePosterior:
        return self.estimator.estimate(Problem(scores, self.structure, lengths))

    def extra_repr(self) -> str:
        given = self.estimator.options().items()
        return ", ".join([f"{self.structure}", *(f"{name}={value!r}" for name, value in given)])
