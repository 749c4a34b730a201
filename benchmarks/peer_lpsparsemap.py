"""Worker: solve a batch of trees or chains with `lp-sparsemap` and time each solve.

Run by `peer.py` in an interpreter that has `lpsmap` (Python 3.9 or older) and numpy::

    python peer_lpsparsemap.py IN.npz OUT.npz

IN holds `kind`, `scores` and `max_iter`: for "trees" arc scores (B, n, n+1), as sparsewood lays
them out; for "chains" the scores of states (B, T, K), and `transition` (B, T-1, K, K). OUT gets
`seconds` (B,), `marginals` in the shape of `scores`, and `support` (B,).
"""

import sys
import time
import warnings

import numpy as np

with warnings.catch_warnings():
    # It warns that torch is missing; the factor used here does not need it.
    warnings.simplefilter("ignore")
    from lpsmap.ad3ext.sequence import PFactorSequence  # pyright: ignore[reportMissingImports]
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


def chain_factor(steps, states):
    """A sequence factor over steps * states variables, and the graph that owns it."""
    graph = PFactorGraph()
    factor = PFactorSequence()
    factor.initialize([states] * steps)
    variables = [graph.create_binary_variable() for _ in range(steps * states)]
    graph.declare_factor(factor, variables, owned_by_graph=True)
    return graph, factor


def timed(factor, variables, additional, max_iter):
    """Seconds of the solve alone, the variables' marginals and the size of the support."""
    start = time.perf_counter()
    marginals, _ = factor.solve_qp(variables, additional, max_iter=max_iter)
    seconds = time.perf_counter() - start
    return seconds, marginals, len(factor.get_sparse_solution()[1])


def solve_tree(scores, max_iter):
    """Seconds, marginals (n, n+1) and support size for scores (n, n+1)."""
    n = scores.shape[0]
    is_arc = np.arange(n + 1) != np.arange(1, n + 1)[:, None]
    graph, factor = tree_factor(n)
    # A list is the fastest to convert to its std::vector.
    seconds, found, support = timed(factor, scores[is_arc].tolist(), [], max_iter)
    marginals = np.zeros_like(scores)
    marginals[is_arc] = found
    del graph
    return seconds, marginals, support


def solve_chain(unary, transition, max_iter):
    """Seconds, marginals (T, K) and support size."""
    graph, factor = chain_factor(*unary.shape)
    additional = transition.ravel().tolist()
    seconds, found, support = timed(factor, unary.ravel().tolist(), additional, max_iter)
    del graph
    return seconds, np.reshape(found, unary.shape), support


def main(source, target):
    with np.load(source) as given:
        kind, scores, max_iter = str(given["kind"]), given["scores"], int(given["max_iter"])
        if kind == "chains":
            transition = given["transition"]
            answers = [solve_chain(u, t, max_iter) for u, t in zip(scores, transition)]  # noqa: B905
        else:
            answers = [solve_tree(instance, max_iter) for instance in scores]
    np.savez(
        target,
        seconds=[answer[0] for answer in answers],
        marginals=[answer[1] for answer in answers],
        support=[answer[2] for answer in answers],
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
