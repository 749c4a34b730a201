"""Factor graphs for tests, with references by enumeration and by cyclic projections."""

import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.factor_graph import Factor
from sparsewood.structures.logic import LogicFactor


def forest() -> sp.FactorGraph:
    """A tree over three words, and logic that shares one variable at a time."""
    graph = sp.FactorGraph()
    x, y = graph.variables(3, 4), graph.variables(4)
    graph.add(sp.DependencyTrees(), x)
    graph.add(sp.Xor(), [x[0, 0], y[0], y[1]])
    graph.add(sp.Implies(), [y[1], y[2]])
    graph.add(sp.Budget(1), [x[2, 1], y[3]])
    return graph


def limited_trees(n: int, most: int) -> sp.FactorGraph:
    """Trees in which no word has more than `most` children."""
    graph = sp.FactorGraph()
    x = graph.variables(n, n + 1)
    graph.add(sp.DependencyTrees(), x)
    for head in range(1, n + 1):
        graph.add(sp.Budget(most), [x[i, head] for i in range(n) if i + 1 != head])
    return graph


def two_trees(n: int) -> sp.FactorGraph:
    """A set of arcs that is both a projective tree and a single-root tree."""
    graph = sp.FactorGraph()
    x = graph.variables(n, n + 1)
    graph.add(sp.DependencyTrees(projective=True), x)
    graph.add(sp.DependencyTrees(single_root=True), x)
    return graph


def seats(n: int, pairs: bool) -> sp.FactorGraph:
    """A square matching by logic factors, with clauses and, optionally, pairs of neighbours."""
    graph = sp.FactorGraph()
    x = graph.variables(n, n)
    for i in range(n):
        graph.add(sp.Xor(), x[i])
        graph.add(sp.AtMostOne(), x[:, i])
        graph.add(sp.Or(negated=(0, 1)), [x[0, i], x[1, (i + 1) % n], x[2, (i + 2) % n]])
    graph.add(sp.Budget(2), x.diagonal())
    if pairs:
        both = graph.variables(n, n - 1)
        for i in range(n):
            for j in range(n - 1):
                graph.add(sp.Pairwise(), [x[i, j], x[(i + 1) % n, j + 1], both[i, j]])
    return graph


def members(factor: Factor) -> Tensor:
    """Every structure of a factor over its variables that are read: (count, k) 0/1."""
    shape = tuple(factor.variables.shape)
    sizes = (len(factor.variables),)
    if not isinstance(factor.structure, sp.DependencyTrees):
        sizes = shape
    everything = factor.structure.enumerate(*sizes)
    return factor.structure.indicator(everything, shape)[:, factor.reads]


def assignments(graph: sp.FactorGraph) -> Tensor:
    """Every assignment of the variables that satisfies all factors: (count, V) 0/1."""
    rows = torch.full((1, len(graph)), -1.0, dtype=torch.float64)  # -1: not decided yet
    rows[:, graph.off] = 0.0
    for factor in graph.factors:
        held, options = factor.variables[factor.reads], members(factor)
        known = rows[:, held]
        fits = ((known[:, None] == options) | (known[:, None] < 0)).all(-1)
        old, new = fits.nonzero().unbind(-1)
        rows = rows[old].clone()
        rows[:, held] = options[new]
    return rows


def dykstra(theta: Tensor, graph: sp.FactorGraph, rounds: int) -> Tensor:
    """The point nearest to `theta` (B, V) in all polytopes, by cyclic projections (Dykstra)."""
    x = theta.masked_fill(graph.off, 0)
    kept = [torch.zeros_like(x) for _ in graph.factors]
    for _ in range(rounds):
        for k, factor in enumerate(graph.factors):
            before = x + kept[k]
            table = before[:, factor.variables]
            if isinstance(factor.structure, LogicFactor):
                nearest = factor.structure.project(table)
            else:
                nearest = sp.sparsemap(table, factor.structure).marginals
            x = before.clone()
            x[:, factor.variables[factor.reads]] = nearest[:, factor.reads]
            kept[k] = before - x
    return x
