"""Paths in directed acyclic graphs."""

from functools import cached_property
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from sparsewood._internal.batch import given_shape
from sparsewood._internal.numbers import check_dense, check_whole
from sparsewood.structures._graph import graph_of
from sparsewood.structures._listing import check_count
from sparsewood.structures.base import Native, NativeStructure, OwnParts
from sparsewood.structures.recursions import Shifted, Total
from sparsewood.structures.recursions.paths import path_sums, shift_paths


class Paths(OwnParts, NativeStructure):
    """Paths from a source to a sink in a directed acyclic graph.

    The parts are edges: `scores[b, e]`, shape (B, E), scores edge `e`; use -inf for an edge that is
    missing. A path is a 0/1 vector of its edges, (E,) int64; `vertices` lists its vertices. Edges
    that are on no path from the source to the sink are never read. All instances have the same
    graph, so there are no `lengths`.

    The MAP oracle finds the longest path in topological order, in O(E). For a shortest path, pass
    costs with the opposite sign: `-costs`. For costs on the cells of a grid in which a path may
    turn back, see `GridPaths`. The solver runs on the CPU, also for scores on a GPU; sums run on
    the device of the scores.

    Args:
        edges: (E, 2) integers, the tail and the head of each edge, at least 0. Several edges may
            have the same tail and head.
        source: the vertex where paths begin.
        sink: the vertex where paths end.

    Raises:
        ValueError: the edges have a cycle, or no path leads from the source to the sink.

    Example:
        >>> diamond = sp.Paths([[0, 1], [0, 2], [1, 3], [2, 3]], source=0, sink=3)
        >>> best = diamond.argmax(torch.tensor([[1.0, 0.0, 0.5, 2.0]]))
        >>> best.tolist(), diamond.vertices(best).tolist()
        ([[0, 1, 0, 1]], [[0, 2, 3]])
    """

    parts_ndim = 1

    def __init__(self, edges: Any, source: int, sink: int) -> None:
        table = torch.as_tensor(edges).detach()
        check_dense("Paths: edges", table)
        if table.ndim != 2 or table.shape[1] != 2 or len(table) == 0:
            raise ValueError(
                f"Paths: edges: expected (E, 2) with at least one edge, got {tuple(table.shape)}"
            )
        if table.is_floating_point() or table.is_complex() or table.dtype == torch.bool:
            raise ValueError(f"Paths: edges: expected an integer dtype, got {table.dtype}")
        if (table < 0).any():
            e = int((table < 0).any(-1).nonzero()[0])
            raise ValueError(
                f"Paths: edges[{e}] is {table[e].tolist()}: expected vertices of at least 0"
            )
        self.source = check_whole("Paths: source", source, least=0)
        self.sink = check_whole("Paths: sink", sink, least=0)
        if self.source == self.sink:
            raise ValueError(f"Paths: expected two vertices, source and sink are {self.sink}")
        self.edges = table.to("cpu", torch.int64, copy=True)
        self._graph = graph = graph_of(self.edges.tolist(), self.source, self.sink)
        sizes = len(graph.vertices), len(graph.edges)
        self._native = Native("paths", (*sizes, *chain.from_iterable(graph.edges)))

    @classmethod
    def grid(cls, rows: int, columns: int, diagonal: bool = False) -> "Paths":
        """Paths from the first to the last cell of a grid that go right and down.

        Vertex `i * columns + j` is cell (i, j). Edges are sorted by row: first those to the right,
        then those down, as in PyEPO's grids, and with `diagonal` those right and down.
        """
        n, m = check_whole("Paths: rows", rows), check_whole("Paths: columns", columns)
        steps = [(0, 1), (1, 0), (1, 1)] if diagonal else [(0, 1), (1, 0)]
        edges = [
            [i * m + j, (i + a) * m + j + b]
            for i in range(n)
            for a, b in steps
            for j in range(m)
            if i + a < n and j + b < m
        ]
        if not edges:
            raise ValueError("Paths: expected a grid of at least two cells, got one")
        return cls(edges, 0, n * m - 1)

    def vertices(self, structures: Tensor) -> Tensor:
        """The vertices of paths (*batch, E), in order: (*batch, longest), padded with -1."""
        flat = structures.reshape(-1, structures.shape[-1])
        tail, head, edge = self._graph.table.to(flat.device).unbind(1)
        names = torch.tensor(self._graph.vertices, device=flat.device)
        taken = flat[:, edge] == 1
        after = torch.full((len(flat), len(names)), -1, device=flat.device)
        after = after.scatter_reduce(
            1, tail.expand(len(flat), -1), torch.where(taken, head, -1), "amax"
        )
        at = torch.zeros(len(flat), dtype=torch.int64, device=flat.device)
        walk = [at]
        for _ in range(self._graph.distance[-1]):
            at = torch.where(at < 0, -1, after.gather(1, at.clamp(min=0)[:, None])[:, 0])
            walk.append(at)
        found = torch.stack(walk, 1)
        longest = int((found >= 0).sum(-1).max()) if len(found) else 0
        found = torch.where(found >= 0, names[found.clamp(min=0)], -1)[:, :longest]
        return found.reshape(*structures.shape[:-1], longest)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        if scores.ndim != 2 or scores.shape[1] != len(self.edges):
            raise ValueError(
                f"edge scores: expected (*batch, {len(self.edges)}), one score per edge of {self}, "
                f"got shape {given_shape(scores.shape)}"
            )
        self.check_dtype_and_lengths("edge scores", scores, None)
        if lengths is not None:
            raise ValueError(f"{self}: expected lengths=None, as all instances have the same graph")

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        useful = torch.zeros(scores.shape[1], dtype=torch.bool, device=scores.device)
        useful[self._graph.table[:, 2].to(scores.device)] = True
        return useful.expand(scores.shape)

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (T, E) are 0/1 vectors of the edges of a path from source to sink: (T,)."""
        binary = ((structures == 0) | (structures == 1)).all(-1)
        tail, head, edge = self._graph.table.to(structures.device).unbind(1)
        taken = structures[:, edge]
        others = structures.sum(-1) == taken.sum(-1)
        # What leaves a vertex also enters it; without cycles, that is a single path.
        flow = torch.zeros(
            len(taken), len(self._graph.vertices), dtype=torch.int64, device=taken.device
        )
        flow = flow.index_add(1, tail, taken).index_add(1, head, -taken)
        ends = torch.zeros(flow.shape[1], dtype=torch.int64, device=flow.device)
        ends[0], ends[-1] = 1, -1
        return binary & others & (flow == ends).all(-1)

    def count(self) -> int:
        """How many paths there are."""
        ways = [1] + [0] * (len(self._graph.vertices) - 1)
        for tail, head, _ in self._graph.edges:
            ways[head] += ways[tail]
        return ways[-1]

    def enumerate(self) -> Tensor:
        """Every path, (count(), E) int64; at most 20,000."""
        check_count(self.count(), "paths", f"in {self}")
        to: list[list[list[int]]] = [[[]], *([] for _ in self._graph.vertices[1:])]
        for tail, head, edge in self._graph.edges:
            to[head] += [[*path, edge] for path in to[tail]]
        everything = torch.zeros(len(to[-1]), len(self.edges), dtype=torch.int64)
        for one, path in zip(everything, to[-1], strict=True):
            one[path] = 1
        return everything

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        return path_sums(scores, self._graph, total)

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        return shift_paths(scores, self._graph)

    @property
    def native(self) -> Native:
        return self._native

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Paths) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def _key(self) -> tuple[int, int, bytes]:
        return self.source, self.sink, self.edges.numpy().tobytes()

    def __repr__(self) -> str:
        return f"Paths({len(self.edges)} edges, source={self.source}, sink={self.sink})"
