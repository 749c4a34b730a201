"""Paths in a directed acyclic graph, level by level."""

import torch
from torch import Tensor

from sparsewood.structures._graph import Graph
from sparsewood.structures.recursions.shifted import Shifted, on_a_grid, or_zero
from sparsewood.structures.recursions.totals import FORBIDDEN, Total, maximum


def path_sums(scores: Tensor, graph: Graph, total: Total) -> Tensor:
    """The total over all paths from the source to the sink: edges (B, E) -> (B,)."""
    return _totals(scores, graph, total)[-1][:, 0]


def shift_paths(scores: Tensor, graph: Graph) -> Shifted:
    """Edges minus the difference of potentials, and the potential of the sink.

    The potential of a vertex is the score of the best path to it.
    """
    best = torch.cat(_totals(scores.detach(), graph, maximum), 1)
    potential = on_a_grid(or_zero(best))
    tail, head, edge = graph.table.to(scores.device).unbind(1)
    rise = torch.zeros_like(scores).index_add(1, edge, potential[:, head] - potential[:, tail])
    return Shifted(scores - rise, potential[:, -1])


def _totals(scores: Tensor, graph: Graph, total: Total) -> list[Tensor]:
    """Totals over all paths to each vertex, one (B, vertices) per level."""
    done = [scores.new_zeros(len(scores), 1)]
    for level in graph.levels:
        recent = torch.cat(done[-graph.span :], 1)
        before, edges, real = (
            table.to(scores.device) for table in (level.before, level.edges, level.real)
        )
        ways = torch.where(real, recent[:, before] + scores[:, edges], FORBIDDEN)
        done.append(total(ways, -1))
    return done
