"""Compositions over a forest with one kernel and one matrix product per level.

The kernels are in native/cuda/levels.cuh. The product of a node with U is computed once and used by
each parent: by linearity U sum_k h_k = sum_k U h_k. A small level takes one launch, in which the
kernel also multiplies, as such levels are bound by launches.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor

from sparsewood._internal.cuda import Argument, Kernels, Program, load
from sparsewood.forest import Forest
from sparsewood.nn._levels import Composition, add_product, multiply

_SMALL = 256  # maximum nodes of a level for which the kernel multiplies
_SHARED = 64 * 1024  # bytes of shared memory per block, available on any device
_PARTS, _LONG = 8, 512  # chunks of the sum over nodes in the gradient of U; their minimum length
_ROWS, _COLUMNS, _THREADS = 8, 128, 256  # native/cuda/product.cuh


@cache
def _program(cell: str) -> Program:
    """The kernels of native/cuda/tree_<cell>.cuh in both precisions."""
    passes = ("up", "up_product", "down", "down_product", "inputs", "edges")
    names = (f"{cell}_{real}_{one}" for real in ("float32", "float64") for one in passes)
    return Program(f'#include "cuda/tree_{cell}.cuh"', tuple(names))


class KernelCell(Composition):
    """A composition whose elementwise part is implemented by kernels.

    They keep h (N, hidden), three gates of each node (N, 3 * hidden) and two more tensors: `first`
    with a row per edge or per node, `second` with a row per node. If the cell `carries` the second,
    as an LSTM does with c, parents pass a gradient down to it.
    """

    cell: ClassVar[str]
    gates: ClassVar[int]  # blocks of W and U
    of_edges: ClassVar[bool]  # whether `first` has a row per edge
    carries: ClassVar[bool]

    @classmethod
    def serves(cls, forest: Forest) -> bool:
        """Whether there are kernels for the device of a forest."""
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
        across = weight.to(inputs.dtype).t().contiguous()
        kernels = self._kernels(h)
        start = kernels.prepare(self._name(h, "up"), _threads(hidden), *given, hidden, last=1)
        exact = across.to(h.dtype)
        given = (*given, exact, hidden)
        small, multiplying = self._multiplying(kernels, "up", exact, 1, h, *given)
        with _without_autocast(h.device.type):
            for begin, end in _levels(forest):
                if end - begin <= small:
                    multiplying(begin, end)
                else:
                    start(end - begin, begin)
                    multiply(h[begin:end], across, products[begin:end])
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
        on, counts = (on_h, on_second), (hidden, count)
        above = (*forest.transposed[:2], forest.parents, weights)
        given = (*above, *rest, *on, on_products)
        kernels = self._kernels(h)
        start = kernels.prepare(self._name(h, "down"), _threads(hidden), *given, *counts, last=1)
        exact = weight.to(h.dtype)
        given = (*given, exact, *counts)
        small, multiplying = self._multiplying(kernels, "down", exact, 2, h, *given)
        with _without_autocast(h.device.type):
            for begin, end in reversed(_levels(forest)):
                if end - begin <= small:
                    multiplying(begin, end)
                else:
                    start(end - begin, begin)
                    add_product(on_products[begin:end], weight, on_h[begin:end])
            on_inputs = self._to_inputs(forest, h, rest, on, rows)
            on_edges = on_weight = h.new_empty(0)
            if forest.weights is not None:
                on_edges = self._to_edges(forest, h, rest, on, weight)
            if learns:
                on_weight = _sum_of_products(on_products.to(dtype), h[:count].to(dtype))
        return on_inputs.to(dtype), on_weight.to(own), on_edges

    def _to_inputs(
        self, forest: Forest, h: Tensor, rest: list[Tensor], on: tuple[Tensor, Tensor], rows: int
    ) -> Tensor:
        """The gradient (rows, gates * hidden) of the inputs, given the gradients of the states."""
        count, hidden, words = forest.num_word_nodes, h.shape[1], rows - 1
        out = h.new_empty(rows, self.gates * hidden)
        graph = (*forest.transposed[2:], forest.child_offsets, forest.children, _weights(forest, h))
        given = (*graph, *rest, *on, out, hidden, count, words, forest.num_nodes)
        blocks = words + -(-hidden // 32)
        self._kernels(h).launch(self._name(h, "inputs"), blocks, _threads(hidden), *given)
        return out

    def _to_edges(
        self,
        forest: Forest,
        h: Tensor,
        rest: list[Tensor],
        on: tuple[Tensor, Tensor],
        weight: Tensor,
    ) -> Tensor:
        """The gradient (E,) of the edge weights, given the gradients of the states."""
        count, weights = forest.num_word_nodes, _weights(forest, h)
        products = (h[:count].to(weight.dtype) @ weight.t()).to(h.dtype)
        out = torch.empty_like(weights)
        given = (forest.children, forest.parents, weights, products, *rest, h, *on, out)
        name, edges = self._name(h, "edges"), len(weights)
        self._kernels(h).launch(name, edges, 32, *given, h.shape[1], count)
        assert forest.weights is not None
        return out.to(forest.weights.dtype)

    def _multiplying(
        self,
        kernels: Kernels,
        one: str,
        matrix: Tensor,
        tiles: int,
        h: Tensor,
        *given: Argument,
    ) -> tuple[int, Callable[[int, int], None]]:
        """The largest level for which the kernel multiplies, and a function (begin, end) for it.

        A block has `_ROWS` rows of the matrix's depth and `tiles` tiles of results.
        """
        depth, columns = matrix.shape
        shared = _ROWS * (depth + (tiles + 1) * _COLUMNS) * h.element_size()
        parts = -(-columns // _COLUMNS)
        small = _SMALL if shared <= _SHARED else 0
        if small == 0:
            return 0, lambda begin, end: None
        name = self._name(h, f"{one}_product")
        start = kernels.prepare(name, _THREADS, *given, last=2, shared=shared)
        return small, lambda begin, end: start(
            (end - begin + _ROWS - 1) // _ROWS * parts, begin, end
        )

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
    """(E,) edge weights; empty, a null pointer for kernels, if all are 1."""
    return h.new_empty(0) if forest.weights is None else forest.weights.to(h.dtype).contiguous()


def _levels(forest: Forest) -> list[tuple[int, int]]:
    """The begin and end of each level that has words."""
    return list(pairwise(forest.level_offsets[:-1]))


def _without_autocast(device: str) -> AbstractContextManager[object]:
    enabled = torch.is_autocast_enabled(device)
    return torch.autocast(device, enabled=False) if enabled else nullcontext()


def _sum_of_products(left: Tensor, right: Tensor) -> Tensor:
    """left.t() @ right in chunks of rows, as the small result would occupy only few blocks."""
    size = len(left) // _PARTS
    if size < _LONG:
        return left.t() @ right
    end = _PARTS * size
    parts = [tensor[:end].view(_PARTS, size, -1) for tensor in (left, right)]
    out = torch.bmm(parts[0].transpose(1, 2), parts[1]).sum(0)
    return out.addmm_(left[end:].t(), right[end:])


def _threads(hidden: int) -> int:
    """Threads of a block that works on the states of one node."""
    return min(512, -(-hidden // 32) * 32)
