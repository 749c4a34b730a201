"""Shares of left- and right-branching spans, counted by hand."""

import torch

import sparsewood as sp
from sparsewood.lab.tasks.brackets import BracketStatistics
from sparsewood.posterior import Posterior


def posterior(*trees: list[tuple[int, int]], n: int, lengths: list[int]) -> Posterior:
    table = torch.zeros(len(trees), n, n, dtype=torch.int64)
    for row, spans, length in zip(table, trees, lengths, strict=True):
        for first, last in [*spans, *((i, i) for i in range(length)), (0, length - 1)]:
            row[first, last] = 1
    sizes = torch.tensor(lengths)
    assert sp.BinaryTrees().contains(table, (n, n), sizes).all()
    family = sp.BinaryTrees()
    return Posterior.uniform(family, table, sizes.shape, (n, n), sizes, torch.float64)


def test_chains_of_either_direction() -> None:
    metric = BracketStatistics()
    assert metric.values() == {}
    metric.add_posterior(posterior([(0, 1), (0, 2)], [], [], n=4, lengths=[4, 2, 1]))
    assert metric.values() == {"left_branching": 100.0, "right_branching": 0.0}
    other = BracketStatistics()
    other.add_posterior(posterior([(1, 3), (2, 3)], [(1, 2)], n=4, lengths=[4, 3]))
    assert other.values() == {"left_branching": 0.0, "right_branching": 100.0}
    metric.merge(other)
    assert metric.values() == {"left_branching": 40.0, "right_branching": 60.0}


def test_spans_of_neither_count_too() -> None:
    metric = BracketStatistics()
    metric.add_posterior(posterior([(1, 3), (1, 2)], n=4, lengths=[4]))
    assert metric.values() == {"left_branching": 0.0, "right_branching": 50.0}
