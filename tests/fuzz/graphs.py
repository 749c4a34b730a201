"""`lp_sparsemap` over factor graphs whose assignments can be enumerated."""

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import torch

import sparsewood as sp
from sparsewood.structures.factor_graph import Factor
from sparsewood.testing.reference import project
from tests.fuzz.attempt import attempt, number
from tests.fuzz.case import BrokenError
from tests.fuzz.members import Instance, Long, Members
from tests.fuzz.values import LARGEST, Rng, draw_dtype, draw_scores, draw_temperature


@dataclass(frozen=True)
class Graph:
    """A factor graph and its allowed assignments."""

    graph: sp.FactorGraph
    members: Members


def _chain_of_logic(graph: sp.FactorGraph) -> None:
    x = graph.variables(4)
    graph.add(sp.Xor(), x[:2])
    graph.add(sp.Implies(), [x[1], x[2]])
    graph.add(sp.Or(), x[2:])


def _matching_with_rules(graph: sp.FactorGraph) -> None:
    x = graph.variables(2, 3)
    graph.add(sp.Matching(), x)
    graph.add(sp.AtMostOne(), x[:, 0])
    graph.add(sp.Implies(), [x[0, 1], x[1, 2]])


def _one_subset(graph: sp.FactorGraph) -> None:
    graph.add(sp.Subset(2), graph.variables(4))


def _two_choices(graph: sp.FactorGraph) -> None:
    x = graph.variables(5)
    graph.add(sp.Simplex(), x[:3])
    graph.add(sp.Budget(1), x[2:])


_BUILD = {
    "logic": _chain_of_logic,
    "matching": _matching_with_rules,
    "subset": _one_subset,
    "choices": _two_choices,
}


@cache
def _graph(name: str) -> Graph:
    graph = sp.FactorGraph()
    _BUILD[name](graph)
    all_ = np.array(list(product((0, 1), repeat=len(graph))))
    good = np.ones(len(all_), bool)
    for factor in graph.factors:
        table = torch.from_numpy(all_[:, factor.variables.numpy()])
        if isinstance(factor.structure, sp.Matching):  # listed by their columns
            parts = [row.tobytes() for row in _indicators(factor)]
            good &= [row.numpy().tobytes() in parts for row in table]
        elif isinstance(factor.structure, sp.Simplex):
            good &= (table.sum(-1) == 1).numpy()
        else:
            good &= factor.structure.contains(table, tuple(table.shape[1:])).numpy()
    events = all_[good]
    members = Members(events, events.astype(float), graph.penalised.numpy())
    return Graph(graph, members)


def _indicators(factor: Factor) -> np.ndarray:
    shape = tuple(factor.variables.shape)
    everything = factor.structure.enumerate(*shape)
    return factor.structure.indicator(everything, shape).long().numpy()


def check_graph(rng: Rng) -> None:
    """One call on a drawn graph."""
    drawn = _graph(str(rng.choice(list(_BUILD))))
    instances: list[Instance] = []
    batch = int(rng.integers(1, 3))
    _, values = draw_scores(rng, batch, (len(drawn.graph),))
    scores = torch.from_numpy(values).to(draw_dtype(rng))
    temperature, wrong = draw_temperature(rng, batch)
    if wrong is None:
        temperatures = (
            torch.as_tensor(temperature, dtype=torch.float64).detach().expand(batch).numpy()
        )
        theta = scores.double().numpy().astype(Long) / temperatures[:, None].astype(Long)
        wrong = _why_refused(theta)
        reads = np.ones(len(drawn.graph), bool)
        instances = [Instance(drawn.members, row, reads) for row in theta]
    before = scores.clone()
    options = {"temperature": temperature, "max_iter": int(rng.choice([30, 200]))}
    if wrong is None and not all(one.usable.any() for one in instances):
        # Rejected if a factor has no assignment left; factors may also contradict each other.
        with suppress(ValueError):
            sp.lp_sparsemap(scores, drawn.graph, **options)
        return
    post = attempt(wrong, lambda: sp.lp_sparsemap(scores, drawn.graph, **options))
    if not torch.equal(scores, before):
        raise BrokenError("writes to its input")
    mu, epsilon = number(post.marginals), torch.finfo(scores.dtype).eps
    if not np.isfinite(mu).all() or mu.min() < -1e-6 or mu.max() > 1 + 1e-6:
        raise BrokenError("marginals are no probabilities", mu.tolist())
    for b, one in enumerate(instances):
        if bool(post.tight[b]) and one.magnitude <= 1e6:
            _check_projection(one, mu[b], epsilon)


def _why_refused(theta: np.ndarray) -> str | None:
    if np.isnan(theta).any():
        return "NaN"
    if (theta == np.inf).any():
        return "+inf"
    if (np.abs(np.where(theta == -np.inf, Long(0), theta)) > LARGEST).any():
        return "magnitudes beyond 1e200"
    return None


def _check_projection(one: Instance, mu: np.ndarray, epsilon: float) -> None:
    columns = torch.from_numpy(one.members.columns[one.usable])
    wanted = project(torch.from_numpy(one.theta.astype(float)), columns).numpy()
    off = np.abs(mu - wanted).max()
    if not off <= 1e-5 * (1 + one.magnitude) ** 0.5 + 4 * epsilon:
        raise BrokenError("tight marginals are not those of SparseMAP", f"{mu}, expected {wanted}")
