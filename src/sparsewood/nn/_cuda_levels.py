"""Compositions over a forest with a kernel and a matrix product for each level.

The kernels are those of native/cuda/levels.cuh. The product of a node with all of U is made once
and each parent takes its own from it: by linearity U sum_k h_k = sum_k U h_k. A small level takes
one launch, in which the kernel multiplies too; the host is what such a level waits for.
"""

from collections.abc import Sequence
from functools import cache
from typing import ClassVar

import torch
from torch import Tensor

from sparsewood._cuda import Argument, Kernels, Program, Start, load
from sparsewood.forest import Forest
from sparsewood.nn._levels import Composition, add_product, multiply

_SHARE = 8  # root nodes whose gradients one block adds up
_SMALL = 256  # nodes of a level up to which a kernel multiplies
_SHARED = 64 * 1024  # bytes of shared memory that a block may have on any device
_ROWS, _COLUMNS, _THREADS = 8, 128, 256  # native/cuda/product.cuh


@cache
def _program(cell: str) -> Program:
    """The kernels of native/cuda/tree_<cell>.cuh in both precisions."""
    passes = ("up", "up_product", "down", "down_product", "inputs", "edges")
    names = (f"{cell}_{real}_{one}" for real in ("float32", "float64") for one in passes)
    return Program(f'#include "cuda/tree_{cell}.cuh"', tuple(names))


class KernelCell(Composition):
    """A composition whose elementwise part is in the kernels of a program.

    They keep h (N, hidden), three gates of each node (N, 3 * hidden) and two tensors more, `first`
    with a row for each edge or for each node, `second` with one for each node. Where the cell
    `carries` the second, as an LSTM its c, parents pass a gradient down to it.
    """

    cell: ClassVar[str]
    gates: ClassVar[int]  # blocks of W and U
    of_edges: ClassVar[bool]  # whether `first` is
    carries: ClassVar[bool]

    @classmethod
    def serves(cls, forest: Forest) -> bool:
        """Whether the device of a forest has the kernels."""
        return _has_kernels(cls.cell, str(forest.row.device))

    def kept(self, forest: Forest, h: Tensor, columns: int) -> list[Tensor]:
        nodes, hidden = h.shape
        first = h.new_empty(forest.children.shape[0] if self.of_edges else nodes, hidden)
        return [h, h.new_empty(nodes, 3 * hidden), first, torch.empty_like(h)]

    def pass_up(
        self, inputs: Tensor, weight: Tensor, split: int, forest: Forest
    ) -> Sequence[Tensor]:
        values = inputs.to(torch.promote_types(inputs.dtype, torch.float32)).contiguous()
        hidden, count = weight.shape[1], forest.num_word_nodes
        kept = self.kept(forest, values.new_empty(forest.num_nodes, hidden), len(weight))
        h, *rest = kept
        products, weights = h.new_empty(count, len(weight)), _weights(forest, h)
        graph = (forest.child_offsets, forest.children, weights, forest.row)
        given = (*graph, values, products, *rest, h)
        across, sizes = weight.to(inputs.dtype).t().contiguous(), _sizes(forest)
        start = self._start("up", h, *given, hidden)
        small, multiplying = self._multiplying("up", across, 1, h, *given, across, hidden)
        with torch.autocast(h.device.type, enabled=False):
            for level, states, out in zip(
                forest.levels, h[:count].split(sizes), products.split(sizes), strict=False
            ):
                size = level.end - level.begin
                if size <= small:
                    multiplying(size, level.begin, level.end)
                else:
                    start(size, level.begin)
                    multiply(states, across, out)
        start(forest.num_nodes - count, count)  # the roots
        return kept

    def pass_down(
        self,
        on_h: Tensor,
        weight: Tensor,
        kept: Sequence[Tensor],
        split: int,
        forest: Forest,
        rows: int,
        dtype: torch.dtype,
        *,
        learns: bool = True,
    ) -> tuple[Tensor, Tensor, Tensor]:
        h, *rest = kept
        own, weight = weight.dtype, weight.to(dtype).contiguous()
        hidden, count = weight.shape[1], forest.num_word_nodes
        on_h = on_h.to(h.dtype).clone(memory_format=torch.contiguous_format)
        on_second = h.new_empty(count if self.carries else 0, hidden)
        on_products, weights = h.new_empty(count, len(weight)), _weights(forest, h)
        on, sizes, counts = (on_h, on_second), _sizes(forest), (hidden, count)
        above = (*forest.turned[:2], forest.parents, weights)
        given = (*above, *rest, *on, on_products)
        start = self._start("down", h, *given, *counts)
        small, multiplying = self._multiplying("down", weight, 2, h, *given, weight, *counts)
        with torch.autocast(h.device.type, enabled=False):
            for level, states, products in zip(
                forest.levels[-2::-1],
                on_h[:count].split(sizes)[::-1],
                on_products.split(sizes)[::-1],
                strict=True,
            ):
                size = level.end - level.begin
                if size <= small:
                    multiplying(size, level.begin, level.end)
                else:
                    start(size, level.begin)
                    add_product(products, weight, states)
            on_inputs = self._to_inputs(forest, h, rest, on, rows)
            on_edges = on_weight = h.new_empty(0)
            if forest.weights is not None:
                on_edges = self._to_edges(forest, h, rest, on, weight)
            if learns:
                on_weight = h.new_empty(weight.shape)
                multiply(on_products.t(), h[:count].to(dtype), on_weight)
        return on_inputs.to(dtype), on_weight.to(own), on_edges

    def _to_inputs(
        self, forest: Forest, h: Tensor, rest: list[Tensor], on: tuple[Tensor, Tensor], rows: int
    ) -> Tensor:
        """The gradient (rows, gates * hidden) on the inputs, from those on the states."""
        offsets, nodes = forest.turned[2:]
        count, hidden = forest.num_word_nodes, h.shape[1]
        words, roots = rows - 1, -(-(forest.num_nodes - count) // _SHARE) or 1
        out = h.new_empty(words + roots, self.gates * hidden)
        graph = (offsets, nodes, forest.child_offsets, forest.children, _weights(forest, h))
        counts = (hidden, count, words, forest.num_nodes, _SHARE)
        self._kernels(h).launch(
            self._name(h, "inputs"), len(out), _threads(hidden), *graph, *rest, *on, out, *counts
        )
        out[words] = out[words:].sum(0)
        return out[:rows]

    def _to_edges(
        self,
        forest: Forest,
        h: Tensor,
        rest: list[Tensor],
        on: tuple[Tensor, Tensor],
        weight: Tensor,
    ) -> Tensor:
        """The gradient (E,) on the weights of edges, from those on the states."""
        count, weights = forest.num_word_nodes, _weights(forest, h)
        products = (h[:count].to(weight.dtype) @ weight.t()).to(h.dtype)
        out = torch.empty_like(weights)
        given = (forest.children, forest.parents, weights, products, *rest, h, *on, out)
        name, edges = self._name(h, "edges"), len(weights)
        self._kernels(h).launch(name, edges, 32, *given, h.shape[1], count)
        assert forest.weights is not None
        return out.to(forest.weights.dtype)

    def _start(self, one: str, h: Tensor, *given: Argument) -> Start:
        """A function (nodes, first node) that makes the states of a level, or their gradients."""
        name, block = self._name(h, one), _threads(h.shape[1])
        return self._kernels(h).prepare(name, block, *given, last=1)

    def _multiplying(
        self, one: str, matrix: Tensor, tiles: int, h: Tensor, *given: Argument
    ) -> tuple[int, Start]:
        """A function (nodes, first, last) that multiplies with the matrix too, and for how many.

        A block has `_ROWS` rows of the matrix' depth and `tiles` tiles of results.
        """
        depth, columns = matrix.shape
        shared = _ROWS * (depth + (tiles + 1) * _COLUMNS) * h.element_size()
        parts = -(-columns // _COLUMNS)
        small = _SMALL if shared <= _SHARED and matrix.dtype == h.dtype else 0
        start = self._kernels(h).prepare(
            self._name(h, f"{one}_product"), _THREADS, *given, last=2, shared=min(shared, _SHARED)
        )
        return small, lambda size, *ends: start(-(-size // _ROWS) * parts, *ends)

    def _kernels(self, h: Tensor) -> Kernels:
        kernels = load(_program(self.cell), h.device)
        assert kernels is not None
        return kernels

    def _name(self, h: Tensor, one: str) -> str:
        return f"{self.cell}_{'float64' if h.dtype == torch.float64 else 'float32'}_{one}"


@torch.compiler.assume_constant_result
def _has_kernels(cell: str, device: str) -> bool:
    return load(_program(cell), torch.device(device)) is not None


def _weights(forest: Forest, h: Tensor) -> Tensor:
    """(E,), those of the edges; empty, a null pointer to kernels, where all are 1."""
    return h.new_empty(0) if forest.weights is None else forest.weights.to(h.dtype).contiguous()


def _sizes(forest: Forest) -> list[int]:
    """Of the levels that have words."""
    return [level.end - level.begin for level in forest.levels[:-1]]


def _threads(hidden: int) -> int:
    """Of a block that works on the states of one node."""
    return min(512, -(-hidden // 32) * 32)
