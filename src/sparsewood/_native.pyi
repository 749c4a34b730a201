"""The native solver: CPU arrays, C-contiguous; the shapes are in native/python/bindings.cpp."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

_Reals = NDArray[np.float64]
_Whole = NDArray[np.int64]
_Flags = NDArray[np.bool_]
_Floats = NDArray[np.floating[Any]]

def has_memory(size: int) -> bool:
    """Whether so many bytes are free; True if they are few or the system does not say."""

def families() -> dict[str, str]:
    """The structs of each family, separated by commas: which one its first options choose."""

def argmax(
    family: str,
    options: Sequence[int],
    scores: _Reals | NDArray[np.float32] | Tensor,
    sizes: _Whole | Tensor,
    full: Sequence[int],
    events: _Whole | Tensor,
    threads: int,
    batch: Sequence[int] | None = None,
) -> None:
    """`batch` is the batch shape for error messages, here and below; None: (B,)."""

def kbest(
    family: str,
    options: Sequence[int],
    scores: _Reals | Tensor,
    sizes: _Whole | Tensor,
    full: Sequence[int],
    event: int,
    k: int,
    threads: int,
    batch: Sequence[int] | None = None,
) -> tuple[_Whole, _Reals, _Whole, _Whole]: ...
def solve(
    family: str,
    options: Sequence[int],
    scores: _Reals | Tensor,
    sizes: _Whole | Tensor,
    full: Sequence[int],
    event: int,
    temperature: _Reals | Tensor,
    tol: float,
    max_active: int,
    max_iter: int,
    max_support: int,
    canonical: bool,
    threads: int,
    most_structures: int = ...,
    batch: Sequence[int] | None = None,
) -> dict[str, NDArray[Any]]:
    """The arrays of a batch of solutions: the fields of `inference._solution.Solution`.

    `event` counts the numbers of a structure; with 0, `structures` is (T, 0).
    """

def jacobian(
    used: _Whole | Tensor,
    sizes: _Whole | Tensor,
    factor: _Reals | Tensor,
    on_weights: _Reals | Tensor,
    on_parts: _Reals | Tensor,
    threads: int,
) -> tuple[_Reals, _Reals]:
    """(out_weights, out_parts)."""

def build_forest(
    heads: _Whole | Tensor, lengths: _Whole | Tensor, instance: _Whole | Tensor
) -> tuple[_Whole, _Whole, _Whole, _Whole, _Whole, _Whole, _Whole, int]:
    """(words, row, child_offsets, children, parents, roots, level_offsets, tree_nodes)."""

def lstm_up_levels(
    row: _Whole,
    child_offsets: _Whole,
    children: _Whole,
    inputs: _Floats,
    products: _Floats,
    h: _Floats,
    gates: _Floats,
    sums: _Floats,
    forget: _Floats,
    c: _Floats,
) -> Callable[[int, int, int], None]:
    """A function (begin, end, next): the states of nodes begin:end, the sums of end:next."""

def lstm_down_levels(
    row: _Whole,
    child_offsets: _Whole,
    children: _Whole,
    parents: _Whole,
    given: _Floats,
    gates: _Floats,
    forget: _Floats,
    c: _Floats,
    on_h: _Floats,
    on_c: _Floats,
    on_gates: _Floats,
    on_products: _Floats,
    on_inputs: _Floats,
) -> tuple[Callable[[int, int], None], Callable[[int, int], None]]:
    """Two functions (begin, end): collect the gradients of these nodes, pass them down."""

def score_pairs(
    heads: _Floats,
    dependents: _Floats,
    prefixes: _Reals,
    table: _Floats,
    v: _Floats,
    scores: _Floats,
    threads: int,
) -> None:
    """Writes v^T tanh(heads + dependents + features of the words between) for all pairs."""

def backward_pairs(
    heads: _Floats,
    dependents: _Floats,
    prefixes: _Reals,
    table: _Floats,
    v: _Floats,
    on_scores: _Floats,
    on_heads: _Floats,
    on_dependents: _Floats,
    on_prefixes: _Reals,
    on_table: _Floats,
    on_v: _Floats,
    threads: int,
) -> None:
    """Writes all gradients; those of table and v are per sentence."""

def shift_spans(spans: _Reals | Tensor, lengths: _Whole | Tensor, shared: _Reals | Tensor) -> None:
    """Subtract from spans (B, n, n, L) the score shared by all trees, and write it."""

def shift_arcs(arcs: _Reals | Tensor, shared: _Reals | Tensor, root: int) -> None:
    """Shifts arcs in place by a constant that all trees share, and writes the constant."""

def sample_trees(
    scores: _Reals | Tensor,
    lengths: _Whole | Tensor,
    single_root: bool,
    seeds: _Whole | Tensor,
    heads: _Whole | Tensor,
    good: NDArray[np.bool_] | Tensor,
    threads: int,
) -> None:
    """Heads of trees drawn from their distribution, and whether they could be drawn."""

def measure_tree_samples(words: int, lanes: int) -> int:
    """The bytes of working memory of a sentence."""

def alignment_potentials(
    scores: _Reals | Tensor, potentials: _Reals | Tensor, gaps: bool, threads: int
) -> None:
    """The best score of a walk to each cell (B, n, m), or with gaps to each corner."""

def step_potentials(
    scores: _Reals | Tensor, potentials: _Reals | Tensor, steps: int, threads: int
) -> None:
    """The best score of a path to each cell (B, n, m) by steps."""

def sum_paths(
    scores: _Reals | Tensor,
    sizes: _Whole | Tensor,
    steps: int,
    log_sums: _Reals | Tensor,
    marginals: _Reals | Tensor,
    threads: int,
) -> None:
    """The log-partition function (B,) of monotone paths with one cell per row or column.

    Also the probability of each cell (B, n, m).
    """

def segment_potentials(
    scores: _Reals | Tensor,
    longest: int,
    starts: _Reals | Tensor,
    ends: _Reals | Tensor,
    threads: int,
) -> None:
    """The best score of prefixes before each label starts and ends."""

def measure_chart(
    chart: str, size: Sequence[int], shape: Sequence[int], with_rates: bool
) -> tuple[int, int]:
    """The bytes of working memory and the cells of an instance."""

def sum_chart(
    chart: str,
    scores: _Reals | Tensor,
    sizes: _Whole | Tensor,
    log_sums: _Reals | Tensor,
    marginals: _Reals | Tensor,
    threads: int,
) -> None:
    """Log-partition functions of the instances of a chart's family, and their derivatives."""

def chart_hessian(
    chart: str,
    scores: _Reals | Tensor,
    sizes: _Whole | Tensor,
    direction: _Reals | Tensor,
    product: _Reals | Tensor,
    threads: int,
) -> None:
    """The derivatives of the marginals along `direction`."""

def sample_chart(
    chart: str,
    scores: _Reals | Tensor,
    sizes: _Whole | Tensor,
    seeds: _Whole | Tensor,
    samples: _Reals | Tensor,
    threads: int,
) -> None:
    """Steps of structures drawn from their distribution, marked in `samples`, 0 before."""

def sum_trees(
    scores: _Reals | Tensor,
    lengths: _Whole | Tensor,
    log_sums: _Reals | Tensor,
    marginals: _Reals | Tensor,
    good: NDArray[np.bool_] | Tensor,
    single_root: bool,
    threads: int,
) -> None:
    """Log-partition functions of sentences, their derivatives, and whether weights underflowed."""

def find_pools(x: _Reals | Tensor, pools: _Whole | Tensor, threads: int) -> int:
    """Isotonic regression of rows (B, n): the first entry of the pool of each entry.

    Returns a row with entries that are not finite, or -1.
    """

def pool_means(x: _Reals | Tensor, pools: _Whole | Tensor, means: _Reals | Tensor) -> None:
    """The means of (B, n) over pools, at all their entries."""

def soft_rank(
    z: _Reals | Tensor,
    order: _Whole | Tensor,
    scale: float,
    pools: _Whole | Tensor,
    ranks: _Reals | Tensor,
    threads: int,
) -> int:
    """The pools of sorted z (B, n), and its soft ranks in the unsorted order.

    Returns a row with entries that are not finite, or -1.
    """

def centre_ranks(
    x: _Reals | Tensor,
    pools: _Whole | Tensor,
    order: _Whole | Tensor,
    scale: float,
    out: _Reals | Tensor,
    threads: int,
) -> None:
    """`scale` times (B, n) less its mean over each pool, in the unsorted order."""

def spread(
    u: _Reals | Tensor, pools: _Whole | Tensor, rankings: _Whole | Tensor, weights: _Reals | Tensor
) -> int:
    """Rankings whose mean with these weights is a sorted point of the permutahedron."""
