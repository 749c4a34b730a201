"""The native solver: CPU arrays, C-contiguous; the shapes are in native/bindings.cpp."""

from typing import Any

from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any] | Tensor

def argmax_trees(
    scores: Array,
    lengths: Array,
    heads: Array,
    projective: bool,
    single_root: bool,
    threads: int,
) -> None: ...
def solve_trees(
    scores: Array,
    lengths: Array,
    temperature: Array,
    projective: bool,
    single_root: bool,
    tol: float,
    max_active: int,
    max_iter: int,
    threads: int,
) -> tuple[
    NDArray[Any],
    NDArray[Any],
    NDArray[Any],
    NDArray[Any],
    NDArray[Any],
    NDArray[Any],
    NDArray[Any],
    NDArray[Any],
]: ...
def jacobian_trees(
    structures: Array,
    sizes: Array,
    lengths: Array,
    factor: Array,
    on_weights: Array,
    on_parts: Array,
    threads: int,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
