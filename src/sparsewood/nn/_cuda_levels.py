"""Compositions over a forest with a kernel and a matrix product for each level.

The kernels are those of native/cuda/levels.cuh. The product of a node with all of U is made once
and each parent takes its own from it: by linearity U sum_k h_k = sum_k U h_k.
"""

from collections.abc import Sequence
from functools import cache
from typing import ClassVar

import torch
from torch import Tensor

from sparsewood._cuda import Kernels, Program, load
from sparsewood.forest import Forest
from sparsewood.nn._levels import Composition, add_product, multiply

_SHARE = 8  # root nodes whose gradients one block adds up


@cache
def _program(cell: str) -> Program:
    """The kernels of native/cuda/tree_<cell>.cuh in both precisions."""
    passes = ("up", "down", "inputs", "edges")
    names = (f"{cell}_{real}_{one}" for real in ("float32", "float64") for one in passes)
    return Program(f'#include "cuda/tree_{cell}.cuh"', tuple(names))


class KernelCell(Composition):
    """A composition whose elementwise part is in the kernels of a program.

    They keep h (N, hidden), three gates of each node (N, 3 * hidden) and two tensors more, `first`
    with a row for each edge or for each node, `second` with one for each node. Where the cell
    `carries` the second, as an LSTM its c, parents pass a gradient down to it.
    """

    cell: ClassVar[str]
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
        given = (*graph, values, products, *rest, h, hidden)
        start = self._kernels(h).prepare(self._name(h, "up"), _threads(hidden), *given, last=1)
        across, sizes = weight.to(inputs.dtype).t(), _sizes(forest)
        with torch.autocast(h.device.type, enabled=False):
            for level, states, out in zip(
                forest.levels, h[:count].split(sizes), products.split(sizes), strict=False
            ):
                start(level.end - level.begin, level.begin)
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
        own, weight = weight.dtype, weight.to(dtype)
        hidden, count = weight.shape[1], forest.num_word_nodes
        on_h = on_h.to(h.dtype).clone(memory_format=torch.contiguous_format)
        on_second = h.new_empty(count if self.carries else 0, hidden)
        on_products, weights = h.new_empty(count, len(weight)), _weights(forest, h)
        edge_offsets, edges, row_offsets, nodes = forest.turned
        on = (on_h, on_second)
        above = (edge_offsets, edges, forest.parents, weights)
        given = (*above, *rest, *on, on_products, hidden, count)
        kernels, block, sizes = self._kernels(h), _threads(hidden), _sizes(forest)
        start = kernels.prepare(self._name(h, "down"), block, *given, last=1)
        with torch.autocast(h.device.type, enabled=False):
            for level, states, products in zip(
                forest.levels[-2::-1],
                on_h[:count].split(sizes)[::-1],
                on_products.split(sizes)[::-1],
                strict=True,
            ):
                start(level.end - level.begin, level.begin)
                add_product(products, weight, states)
            below = (forest.child_offsets, forest.children, weights)
            roots = -(-(forest.num_nodes - count) // _SHARE) or 1
            on_inputs = h.new_empty(rows - 1 + roots, len(weight))
            given = (row_offsets, nodes, *below, *rest, *on, on_inputs)
            counts = (hidden, count, rows - 1, forest.num_nodes, _SHARE)
            kernels.launch(self._name(h, "inputs"), len(on_inputs), block, *given, *counts)
            on_inputs[rows - 1] = on_inputs[rows - 1 :].sum(0)
            on_edges = on_weight = h.new_empty(0)
            if forest.weights is not None:
                products = (h[:count].to(dtype) @ weight.t()).to(h.dtype)
                on_edges = torch.empty_like(weights)
                given = (forest.children, forest.parents, weights, products, *rest, h, *on)
                given = (*given, on_edges, hidden, count)
                kernels.launch(self._name(h, "edges"), len(edges), 32, *given)
                on_edges = on_edges.to(forest.weights.dtype)
            if learns:
                on_weight = h.new_empty(weight.shape)
                multiply(on_products.t(), h[:count].to(dtype), on_weight)
        return on_inputs[:rows].to(dtype), on_weight.to(own), on_edges

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
