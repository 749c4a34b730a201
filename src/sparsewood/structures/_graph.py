"""A directed acyclic graph between two vertices: its topological order and its levels."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Level:
    """The vertices at one distance from the source, and the edges into them.

    The distance of a vertex is the most edges of a path to it. Rows are padded by entries that are
    not `real`.
    """

    before: Tensor  # (V, D) where the tail of each edge is among the vertices of earlier levels
    edges: Tensor  # (V, D) the edge
    real: Tensor  # (V, D) bool


@dataclass(frozen=True, eq=False)
class Graph:
    """The edges on paths from the source to the sink, by tail in topological order.

    Vertices are numbered in an order in which the source is first, the sink last, and distances
    from the source do not decrease.
    """

    vertices: tuple[int, ...]  # the names of the vertices
    edges: tuple[tuple[int, int, int], ...]  # (tail, head, index among the edges given)
    distance: tuple[int, ...]  # of each vertex, the most edges of a path to it

    span: int = field(init=False)  # the most levels that an edge advances
    table: Tensor = field(init=False)  # the edges, (E, 3) int64
    levels: tuple[Level, ...] = field(init=False)  # after that of the source

    def __post_init__(self) -> None:
        far = self.distance
        object.__setattr__(self, "span", max(far[head] - far[tail] for tail, head, _ in self.edges))
        object.__setattr__(self, "table", torch.tensor(self.edges))
        object.__setattr__(self, "levels", tuple(self._levels()))

    def _levels(self) -> list[Level]:
        into: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for tail, head, edge in self.edges:
            into[head].append((tail, edge))
        groups: list[list[int]] = [[] for _ in range(self.distance[-1] + 1)]
        for vertex, distance in enumerate(self.distance):
            groups[distance].append(vertex)
        levels = []
        for distance in range(1, len(groups)):
            first = groups[max(0, distance - self.span)][0]
            rows = [into[vertex] for vertex in groups[distance]]
            width = max(map(len, rows))
            padded = [row + [(first, 0)] * (width - len(row)) for row in rows]
            table = torch.tensor(padded)
            real = torch.tensor([[d < len(row) for d in range(width)] for row in rows])
            levels.append(Level(table[..., 0] - first, table[..., 1], real))
        return levels


def graph_of(edges: list[list[int]], source: int, sink: int) -> Graph:
    """The graph between two vertices.

    Raises ValueError for a cycle, and if no path leads from the source to the sink.
    """
    out: dict[int, list[int]] = defaultdict(list)
    into: dict[int, list[int]] = defaultdict(list)
    for tail, head in edges:
        out[tail].append(head)
        into[head].append(tail)
    order = _topological(out, into)
    useful = _reached(source, out) & _reached(sink, into)
    if sink not in useful:
        raise ValueError(f"Paths: no path leads from the source {source} to the sink {sink}")
    distance: dict[int, int] = {}
    for vertex in order:
        if vertex in useful:
            before = (distance[tail] for tail in into[vertex] if tail in useful)
            distance[vertex] = max(before, default=-1) + 1
    ordered = sorted(distance, key=lambda vertex: distance[vertex])
    number = {vertex: k for k, vertex in enumerate(ordered)}
    kept = sorted(
        (number[tail], number[head], e)
        for e, (tail, head) in enumerate(edges)
        if tail in useful and head in useful
    )
    return Graph(tuple(ordered), tuple(kept), tuple(distance[vertex] for vertex in ordered))


def _topological(out: dict[int, list[int]], into: dict[int, list[int]]) -> list[int]:
    """All vertices, each after its predecessors (Kahn 1962). ValueError names a cycle."""
    waiting = {vertex: len(tails) for vertex, tails in into.items()}
    ready = [vertex for vertex in out if vertex not in waiting]
    order = []
    while ready:
        vertex = ready.pop()
        order.append(vertex)
        waiting.pop(vertex, None)
        for head in out.get(vertex, ()):
            waiting[head] -= 1
            if waiting[head] == 0:
                ready.append(head)
    if waiting:
        raise ValueError(f"Paths: the edges have a cycle: {_cycle(waiting, into)}")
    return order


def _cycle(left: Iterable[int], into: dict[int, list[int]]) -> str:
    """A cycle among vertices that all have a predecessor among them."""
    among, vertex = set(left), next(iter(left))
    walk: list[int] = []
    while vertex not in walk:
        walk.append(vertex)
        vertex = next(tail for tail in into[vertex] if tail in among)
    cycle = [*walk[walk.index(vertex) :], vertex][::-1]
    shown = cycle if len(cycle) <= 12 else [*cycle[:6], "...", *cycle[-5:]]
    return " -> ".join(map(str, shown))


def _reached(start: int, ahead: dict[int, list[int]]) -> set[int]:
    """The vertices to which a path leads."""
    found, waiting = {start}, [start]
    while waiting:
        for vertex in ahead.get(waiting.pop(), ()):
            if vertex not in found:
                found.add(vertex)
                waiting.append(vertex)
    return found
