"""What compositions over a forest share: one autograd function that runs level by level.

A composition gives node j, with input x_j and children C(j), gates of two kinds:

    W x_j + b + U sum_k h_k       one for the node, its product with the sum over the children
    W x_j + b,  U h_k             one for each child: `each`, the product kept apart

and makes the state h_j from them. `W x` is computed once per word; the products with U once per
distinct node, all gates of a kind in one. A `Cell` does what lies between the products, on a whole
level at a time, forward and backward.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, cast, overload

import torch
from torch import Tensor, nn

from sparsewood.forest import Forest, Level
from sparsewood.nn._check import check_words

Step = Callable[[Level], None]
AddRows = Callable[[int, int], object]


@dataclass(frozen=True)
class States:
    """The tensors of a pass over N nodes, or the gradients on them.

    h: (N, hidden). gates: (N, gates * hidden), the gates of the node first. sums: (N, hidden), the
    sums over children; not set at leaves. products: (word nodes, each * hidden), of each child.
    """

    h: Tensor
    gates: Tensor
    sums: Tensor
    products: Tensor


class Cell(ABC):
    """The elementwise part of a composition."""

    @abstractmethod
    def buffers(self, forest: Forest, h: Tensor) -> tuple[Tensor, ...]:
        """Tensors that `up` fills and `down` reads, of the dtype and device of `h`."""

    @abstractmethod
    def up(self, forest: Forest, states: States, buffers: tuple[Tensor, ...]) -> Step:
        """The step that makes `h` of a level from its gates, which it may overwrite."""

    @abstractmethod
    def down(self, forest: Forest, states: States, buffers: tuple[Tensor, ...], on: States) -> Step:
        """The step that reads `on.h` of a level, writes its `on.gates`, adds to `on.products`.

        What `h` owes to the sums other than through U is added to `on.h` of the children.
        """

    def add_rows(self, out: Tensor, to: Tensor, values: Tensor, source: Tensor) -> AddRows:
        """A function (begin, end): out[to[e]] += values[source[e]] for these edges."""
        return lambda begin, end: out.index_add_(
            0, to[begin:end], values.index_select(0, source[begin:end])
        )


class TreeComposer(nn.Module, ABC):
    """Word vectors and a forest to the states of root nodes; subclasses supply the cell.

    Args:
        input_size: dimensions of a word vector.
        hidden_size: dimensions of a state.
        root: the input vector of root nodes, which have no word: "zero", or "learned".
    """

    gates: int  # blocks of `hidden_size` rows in W and U
    each: int  # how many of them, the last ones, are for each child

    def __init__(
        self, input_size: int, hidden_size: int, *, root: Literal["zero", "learned"] = "zero"
    ) -> None:
        super().__init__()
        if root not in ("zero", "learned"):
            raise ValueError(f"root: expected 'zero' or 'learned', got {root!r}")
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.input = nn.Linear(input_size, self.gates * hidden_size)
        self.recurrent = nn.Linear(hidden_size, self.gates * hidden_size, bias=False)
        self.root = nn.Parameter(torch.zeros(input_size)) if root == "learned" else None

    @abstractmethod
    def cell(self, device: torch.device) -> Cell:
        """The cell that serves tensors on `device`."""

    @overload
    def forward(
        self, x: Tensor, forest: Forest, return_nodes: Literal[False] = False
    ) -> Tensor: ...
    @overload
    def forward(
        self, x: Tensor, forest: Forest, return_nodes: Literal[True]
    ) -> tuple[Tensor, Tensor]: ...
    def forward(
        self, x: Tensor, forest: Forest, return_nodes: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """The states of the trees' root nodes.

        Differentiable once: a backward pass with `create_graph=True` raises RuntimeError. States
        are kept in float32 at least; the matrix products are in the dtype of `x` or, under
        autocast, in that of autocast, and so is the result.

        Args:
            x: (B, n, input_size) word vectors; those beyond the lengths are not read.
            forest: the trees, on the device of `x`.
            return_nodes: whether to return the states of all nodes too.

        Returns:
            (T, hidden_size); with `return_nodes` also (N, hidden_size).
        """
        check_words(x, self.input_size)
        if x.shape[:2] != forest.shape or x.device != forest.row.device:
            raise ValueError(
                f"the forest is over (B, n) = {forest.shape} words on {forest.row.device}, "
                f"the word vectors have shape {tuple(x.shape)} and are on {x.device}"
            )
        words = x.flatten(0, 1)
        if len(forest.words) < len(words):
            words = words.index_select(0, forest.words)
        root = words.new_zeros(self.input_size) if self.root is None else self.root.to(x.dtype)
        inputs = self.input(torch.cat([words, root[None]]))
        split = (self.gates - self.each) * self.hidden_size
        cell = self.cell(x.device)
        found = _Compose.apply(inputs, self.recurrent.weight, split, forest, cell)
        roots, nodes = cast(tuple[Tensor, Tensor], found)
        return (roots, nodes) if return_nodes else roots

    def extra_repr(self) -> str:
        root = "zero" if self.root is None else "learned"
        return f"{self.input_size}, {self.hidden_size}, root={root!r}"


class _Compose(torch.autograd.Function):
    """(W + 1, gates * hidden) inputs -> (T, hidden) root states, (N, hidden) node states.

    The first `split` rows of the weight U are for the sums over children, the rest for each child.
    """

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, split: int, forest: Forest, cell: Cell
    ) -> tuple[Tensor, Tensor]:
        weight = weight.detach().to(inputs.dtype)
        values = inputs.detach().to(torch.promote_types(inputs.dtype, torch.float32))
        nodes, hidden, count = forest.num_nodes, weight.shape[1], forest.num_word_nodes
        states = States(
            h=values.new_empty(nodes, hidden),
            gates=values.index_select(0, forest.row),
            sums=values.new_zeros(nodes, hidden),
            products=values.new_empty(count, len(weight) - split),
        )
        buffers = cell.buffers(forest, states.h)
        step = cell.up(forest, states, buffers)
        sum_children = cell.add_rows(states.sums, forest.parents, states.h, forest.children)
        for_sums, for_each = weight[:split].t(), weight[split:].t()
        with torch.autocast(values.device.type, enabled=False):
            for level in forest.levels:
                here = slice(level.begin, level.end)
                if level.begin > 0:
                    sum_children(level.first_edge, level.last_edge)
                    _add_product(states.sums[here], for_sums, out=states.gates[here, :split])
                step(level)
                if level.end <= count:
                    _multiply(states.h[here], for_each, out=states.products[here])
        ctx.save_for_backward(weight, states.h, states.gates, states.sums, *buffers)
        ctx.split, ctx.forest, ctx.cell, ctx.rows = split, forest, cell, len(inputs)
        ctx.set_materialize_grads(False)
        roots = states.h.index_select(0, forest.roots)
        return roots.to(inputs.dtype), states.h.to(inputs.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        # `once_differentiable` would let through what depends on the saved tensors.
        if torch.is_grad_enabled():
            raise RuntimeError("a forest is differentiable once: create_graph=True does not work")
        on_roots, on_nodes = gradients
        weight, h, gates, sums, *buffers = ctx.saved_tensors
        forest, split, count = ctx.forest, ctx.split, ctx.forest.num_word_nodes
        for_sums, for_each = weight[:split], weight[split:]
        on = States(
            h=torch.zeros_like(h) if on_nodes is None else on_nodes.to(h.dtype, copy=True),
            gates=torch.empty_like(gates),
            sums=torch.empty_like(sums),
            products=h.new_zeros(count, len(for_each)),
        )
        if on_roots is not None:
            on.h.index_add_(0, forest.roots, on_roots.to(h.dtype))
        states = States(h, gates, sums, products=h.new_empty(0))
        step = ctx.cell.down(forest, states, tuple(buffers), on)
        pass_to_children = ctx.cell.add_rows(on.h, forest.children, on.sums, forest.parents)
        with torch.autocast(h.device.type, enabled=False):
            for level in reversed(forest.levels):
                here = slice(level.begin, level.end)
                if level.end <= count:
                    _add_product(on.products[here], for_each, out=on.h[here])
                step(level)
                if level.begin > 0:
                    _multiply(on.gates[here, :split], for_sums, out=on.sums[here])
                    pass_to_children(level.first_edge, level.last_edge)
            on_inputs = h.new_zeros(ctx.rows, len(weight)).index_add_(0, forest.row, on.gates)
            on_weight = None
            if ctx.needs_input_grad[1]:
                leaves = forest.level_offsets[1] if forest.num_nodes else 0
                on_weight = h.new_empty(weight.shape)
                for on_product, factor, out in (
                    (on.gates[leaves:, :split], sums[leaves:], on_weight[:split]),
                    (on.products, h[:count], on_weight[split:]),
                ):
                    _multiply(on_product.t(), factor.to(weight.dtype), out=out)
        return on_inputs.to(weight.dtype), on_weight, None, None, None


def _multiply(states: Tensor, matrix: Tensor, out: Tensor) -> None:
    """out = states @ matrix, in the dtype of the matrix."""
    if matrix.dtype == states.dtype:
        torch.mm(states, matrix, out=out)
    else:
        out.copy_(states.to(matrix.dtype) @ matrix)


def _add_product(states: Tensor, matrix: Tensor, out: Tensor) -> None:
    """out += states @ matrix, in the dtype of the matrix."""
    if matrix.dtype == states.dtype:
        out.addmm_(states, matrix)
    else:
        out.add_(states.to(matrix.dtype) @ matrix)
