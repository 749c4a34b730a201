"""A structure with only the three required methods."""

import numpy as np
from numpy.typing import NDArray

import sparsewood as sp


class Seats(sp.Custom, arrays="numpy", parts_ndim=1):
    """Two seats side by side out of n."""

    def best(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        left = (scores[:-1] + scores[1:]).argmax()
        return np.isin(np.arange(len(scores)), [left, left + 1])

    def parts(self, structure: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return structure

    def check(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 1 or shape[0] < 2:
            raise ValueError(f"expected scores of two seats or more, got {shape}")
