"""Worker: solve a batch of arc scores with `lp-sparsemap` and time each solve.

Run by `peer.py` in an interpreter that has `lpsmap` (Python 3.9 or older) and numpy::

    python peer_lpsparsemap.py IN.npz OUT.npz

IN holds `scores` (B, n, n+1), as spinney lays them out, and `max_iter`. OUT gets `seconds`
(B,), `marginals` (B, n, n+1) and `support` (B,).
"""

import sys
import time
import warnings

import numpy as np

with warnings.catch_warnings():
    # It warns that torch is missing; the factor used here does not need it.
    warnings.simplefilter("ignore")
    from lpsmap.ad3ext.tree import PFactorTree  # pyright: ignore[reportMissingImports]
    from lpsmap.ad3qp.factor_graph import PFactorGraph  # pyright: ignore[reportMissingImports]


def tree_factor(n):
    """A tree factor over the n * n arcs without self arcs, dependent by dependent, root first.

    The factor sizes its marginals by the variables it is declared on, so it needs a graph; and it
    keeps its active set between calls, so every instance gets a new one. The graph is returned too:
    it owns the factor.
    """
    graph = PFactorGraph()
    factor = PFactorTree()
    factor.initialize(False, False, n)  # projective, packed, length
    arcs = [graph.create_binary_variable() for _ in range(n * n)]
    graph.declare_factor(factor, arcs, owned_by_graph=True)
    return graph, factor


def solve(scores, max_iter):
    """Seconds of the solve alone, marginals (n, n+1) and support size for scores (n, n+1)."""
    n = scores.shape[0]
    is_arc = np.arange(n + 1) != np.arange(1, n + 1)[:, None]
    graph, factor = tree_factor(n)
    variables = scores[is_arc].tolist()  # a list is the fastest to convert to its std::vector
    start = time.perf_counter()
    posteriors, _ = factor.solve_qp(variables, [], max_iter=max_iter)
    seconds = time.perf_counter() - start
    marginals = np.zeros_like(scores)
    marginals[is_arc] = posteriors
    _, weights = factor.get_sparse_solution()
    del graph
    return seconds, marginals, len(weights)


def main(source, target):
    with np.load(source) as given:
        scores, max_iter = given["scores"], int(given["max_iter"])
    solve(scores[0], max_iter)  # warm-up
    answers = [solve(instance, max_iter) for instance in scores]
    np.savez(
        target,
        seconds=[answer[0] for answer in answers],
        marginals=[answer[1] for answer in answers],
        support=[answer[2] for answer in answers],
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
