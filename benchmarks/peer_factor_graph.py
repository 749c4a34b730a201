"""Worker: solve factor graphs with `lp-sparsemap` and time each solve.

Run in an interpreter that has `lpsmap` (Python 3.9 or older) and numpy::

    python peer_factor_graph.py IN.npz OUT.npz

IN holds `scores` (B, V), `max_iter`, `tol` and `graph`, a JSON list of factors
`[kind, variables, options]`: "xor", "atmostone", "or" and "budget" with options "negated", a list
of positions, and "k"; "pair" over (a, b, both). OUT gets `seconds` (B,) and `marginals` (B, V).
"""

import json
import sys
import time
import warnings

import numpy as np

with warnings.catch_warnings():
    # It warns that torch is missing; the factors used here do not need it.
    warnings.simplefilter("ignore")
    from lpsmap.ad3qp.factor_graph import PFactorGraph  # pyright: ignore[reportMissingImports]


def build(factors, scores):
    """The peer's graph for scores (V,), its variables by number, and the numbers of its pairs."""
    graph, variables, pairs = PFactorGraph(), {}, []
    inside = {v for kind, held, _ in factors for v in (held[:2] if kind == "pair" else held)}
    for v in sorted(inside):
        variables[v] = graph.create_binary_variable()
        variables[v].set_log_potential(scores[v])
    for kind, held, options in factors:
        mine = [variables[v] for v in held[:2]] if kind == "pair" else [variables[v] for v in held]
        negated = [i in options.get("negated", []) for i in range(len(held))]
        if kind == "pair":
            graph.create_factor_pair(mine, scores[held[2]])
            pairs.append(held[2])
        elif kind == "budget":
            graph.create_factor_budget(mine, options["k"], negated)
        else:
            graph.create_factor_logic(kind.upper(), mine, negated)
    return graph, sorted(variables), pairs


def solve(factors, scores, max_iter, tol):
    """Seconds of the solve alone, and marginals (V,) for scores (V,)."""
    graph, variables, pairs = build(factors, scores)
    graph.set_max_iterations_ad3(max_iter)
    graph.set_residual_threshold_ad3(tol)
    start = time.perf_counter()
    _, marginals, additional, _ = graph.solve_qp_ad3()
    seconds = time.perf_counter() - start
    answer = np.zeros_like(scores)
    answer[variables] = marginals
    answer[pairs] = additional[: len(pairs)]
    return seconds, answer


def main(source, target):
    with np.load(source) as given:
        scores, factors = given["scores"], json.loads(str(given["graph"]))
        max_iter, tol = int(given["max_iter"]), float(given["tol"])
    answers = [solve(factors, instance, max_iter, tol) for instance in scores]
    np.savez(target, seconds=[answer[0] for answer in answers], marginals=[a[1] for a in answers])


if __name__ == "__main__":
    main(*sys.argv[1:])
