"""The fixed integer per part that defines canonical weights."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def preferences(shape: Sequence[int]) -> Tensor:
    """Integers of 30 bits as float64, of shape `shape`; slices of a larger array agree.

    A hash of the index of each part, as in `native/canonical/preferences.h`.
    """
    found = np.full(tuple(shape), _GOLDEN)
    for axis, size in enumerate(shape):
        index = np.arange(1, size + 1, dtype=np.uint64)
        found = _mix(found ^ index.reshape(-1, *[1] * (len(shape) - axis - 1)))
    return torch.from_numpy((found >> np.uint64(34)).astype(np.float64))


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64 (Steele, Lea & Flood 2014)."""
    z = z + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
