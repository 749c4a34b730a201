"""A structure defined by the three methods of `Structure`, for the generic solver."""

import torch
from torch import Tensor

import sparsewood as sp


class Choice(sp.Structure):
    """One out of n parts: SparseMAP is sparsemax."""

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        return scores.argmax(-1)

    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        return torch.nn.functional.one_hot(structures, shape[0]).double()

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        pass
