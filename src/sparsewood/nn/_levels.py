"""The autograd function shared by compositions over a forest, which runs level by level.

A composition computes two kinds of gates for node j with input x_j and children C(j):

    W x_j + b + U sum_k h_k       gates per node, with a product of the sum over children
    W x_j + b,  U h_k             gates per child (`each`), with a separate product

and the state h_j from them. `W x` is computed once per word, the products with U once per distinct
node and kind of gate. A `Cell` implements the steps between the products, for a whole level at a
time, forward and backward. If edges have weights w_k, w_k h_k replaces h_k.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from sparsewood.forest import Forest, Level

Step = Callable[[Level], None]


@dataclass(frozen=True)
class States:
    """The tensors of a pass over N nodes, or their gradients.

    h: (N, hidden). gates: (N, gates * hidden), the gates of the node first. sums: (N, hidden), the
    sums over children; not set at leaves. products: (word nodes, each * hidden), per child.
    edges: (E, 1), the weights of the edges; None: all are 1.
    """

    h: Tensor
    gates: Tensor
    sums: Tensor
    products: Tensor
    edges: Tensor | None = None

    def weighted(self, values: Tensor, edges: slice) -> Tensor:
        """`values`, one row per edge of the slice, times the weights of the edges."""
        return values if self.edges is None else values * self.edges[edges]


class Composition(ABC):
    """Forward and backward pass over a forest. Compiled graphs refer to it by class name."""

    named: ClassVar[dict[str, type["Composition"]]] = {}

    def __init_subclass__(cls) -> None:
        Composition.named[cls.__name__] = cls

    @abstractmethod
    def kept(self, forest: Forest, h: Tensor, columns: int) -> list[Tensor]:
        """`h` (N, hidden), and empty tensors with the shapes of the other results of `pass_up`.

        `columns` is the number of columns of the inputs.
        """

    @abstractmethod
    def pass_up(
        self, inputs: Tensor, weight: Tensor, split: int, forest: Forest
    ) -> Sequence[Tensor]:
        """The forward pass: h (N, hidden), at least float32, and tensors saved for `pass_down`.

        The first `split` rows of the weight U apply to sums over children, the rest to each child.
        """

    @abstractmethod
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
        """The backward pass: gradients of the `rows` inputs, of the weight and of edge weights.

        `kept` is the result of `pass_up`, `dtype` the dtype of the inputs. The gradient of the
        weight is empty unless it `learns`; that of edge weights is empty if there are none.
        """


class Cell(Composition):
    """The elementwise part of a composition; matrix products are computed by PyTorch."""

    @abstractmethod
    def buffers(self, forest: Forest, h: Tensor) -> tuple[Tensor, ...]:
        """Tensors that `up` fills and `down` reads, of the dtype and device of `h`."""

    @abstractmethod
    def up(self, forest: Forest, states: States, buffers: tuple[Tensor, ...]) -> Step:
        """The step that computes `h` of a level from its gates, which it may overwrite."""

    @abstractmethod
    def down(self, forest: Forest, states: States, buffers: tuple[Tensor, ...], on: States) -> Step:
        """The step that reads `on.h` of a level, writes its `on.gates`, adds to `on.products`.

        It adds the gradient of the sums that does not go through U to `on.h` of the children, and
        the gradient of edge weights that does not go through the sums to `on.edges`, if any.
        """

    def kept(self, forest: Forest, h: Tensor, columns: int) -> list[Tensor]:
        gates = h.new_empty(h.shape[0], columns)
        return [h, gates, torch.empty_like(h), *self.buffers(forest, h)]

    def pass_up(
        self, inputs: Tensor, weight: Tensor, split: int, forest: Forest
    ) -> Sequence[Tensor]:
        weight = weight.to(inputs.dtype)
        values = inputs.to(torch.promote_types(inputs.dtype, torch.float32))
        nodes, hidden, count = forest.num_nodes, weight.shape[1], forest.num_word_nodes
        states = States(
            h=values.new_empty(nodes, hidden),
            gates=values.index_select(0, forest.row),
            sums=values.new_zeros(nodes, hidden),
            products=values.new_empty(count, len(weight) - split),
            edges=_column(forest, values.dtype),
        )
        buffers = self.buffers(forest, states.h)
        step = self.up(forest, states, buffers)
        sum_children = _adder(states.sums, forest.parents, states.h, forest.children, states)
        for_sums, for_each = weight[:split].t(), weight[split:].t()
        with torch.autocast(values.device.type, enabled=False):
            for level in forest.levels:
                here = slice(level.begin, level.end)
                if level.begin > 0:
                    sum_children(level.first_edge, level.last_edge)
                    add_product(states.sums[here], for_sums, out=states.gates[here, :split])
                step(level)
                if level.end <= count:
                    multiply(states.h[here], for_each, out=states.products[here])
        return [states.h, states.gates, states.sums, *buffers]

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
        h, gates, sums, *buffers = kept
        own, weight = weight.dtype, weight.to(dtype)
        count = forest.num_word_nodes
        for_sums, for_each = weight[:split], weight[split:]
        on = States(
            h=on_h.to(h.dtype, copy=True).contiguous(),
            gates=torch.empty_like(gates),
            sums=torch.empty_like(sums),
            products=h.new_zeros(count, len(for_each)),
            edges=None if forest.weights is None else h.new_zeros(len(forest.weights), 1),
        )
        states = States(h, gates, sums, h.new_empty(0), _column(forest, h.dtype))
        if on.edges is not None:
            states = replace(states, products=(h[:count].to(dtype) @ for_each.t()).to(h.dtype))
        step = self.down(forest, states, tuple(buffers), on)
        pass_to_children = _adder(on.h, forest.children, on.sums, forest.parents, states)
        with torch.autocast(h.device.type, enabled=False):
            for level in reversed(forest.levels):
                here = slice(level.begin, level.end)
                if level.end <= count:
                    add_product(on.products[here], for_each, out=on.h[here])
                step(level)
                if level.begin > 0:
                    multiply(on.gates[here, :split], for_sums, out=on.sums[here])
                    pass_to_children(level.first_edge, level.last_edge)
            on_edges = h.new_empty(0)
            if on.edges is not None and forest.weights is not None:
                through_sums = on.sums.index_select(0, forest.parents)
                through_sums.mul_(h.index_select(0, forest.children))
                on_edges = (on.edges.squeeze(1) + through_sums.sum(1)).to(forest.weights.dtype)
            on_inputs = h.new_zeros(rows, len(weight)).index_add_(0, forest.row, on.gates)
            if not learns:
                return on_inputs.to(dtype), h.new_empty(0), on_edges
            leaves = forest.level_offsets[1] if forest.num_nodes else 0
            on_weight = h.new_empty(weight.shape)
            for on_product, factor, out in (
                (on.gates[leaves:, :split], sums[leaves:], on_weight[:split]),
                (on.products, h[:count], on_weight[split:]),
            ):
                multiply(on_product.t(), factor.to(weight.dtype), out=out)
        return on_inputs.to(dtype), on_weight.to(own), on_edges


class Compose(torch.autograd.Function):
    """(W + 1, gates * hidden) inputs -> the results of `pass_up`, (N, hidden) first.

    `edges` are the edge weights of the forest, or None.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        weight: Tensor,
        edges: Tensor | None,
        split: int,
        forest: Forest,
        cell: Composition,
    ) -> Tensor:
        weight = weight.detach()
        if edges is not None:
            forest = replace(forest, weights=edges.detach())
        h, *rest = cell.pass_up(inputs.detach(), weight, split, forest)
        ctx.save_for_backward(weight, h, *rest)
        ctx.split, ctx.forest, ctx.cell = split, forest, cell
        ctx.rows, ctx.dtype = len(inputs), inputs.dtype
        return h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        # `once_differentiable` would miss derivatives through the saved tensors.
        if torch.is_grad_enabled():
            raise RuntimeError("a forest is differentiable once: not with create_graph=True")
        weight, *states = ctx.saved_tensors
        on_inputs, on_weight, on_edges = ctx.cell.pass_down(
            gradients[0],
            weight,
            states,
            ctx.split,
            ctx.forest,
            ctx.rows,
            ctx.dtype,
            learns=ctx.needs_input_grad[1],
        )
        learns, weighted = ctx.needs_input_grad[1:3]
        return (
            on_inputs,
            on_weight if learns else None,
            on_edges if weighted else None,
            *(None, None, None),
        )


def _adder(
    out: Tensor, to: Tensor, values: Tensor, source: Tensor, states: States
) -> Callable[[int, int], object]:
    """A function (begin, end) that adds w_e values[source[e]] to out[to[e]] for these edges."""
    return lambda begin, end: out.index_add_(
        0,
        to[begin:end],
        states.weighted(values.index_select(0, source[begin:end]), slice(begin, end)),
    )


def _column(forest: Forest, dtype: torch.dtype) -> Tensor | None:
    """(E, 1), the edge weights of a forest."""
    return None if forest.weights is None else forest.weights.to(dtype)[:, None]


def multiply(states: Tensor, matrix: Tensor, out: Tensor) -> None:
    """out = states @ matrix, in the dtype of the matrix."""
    if matrix.dtype == states.dtype:
        torch.mm(states, matrix, out=out)
    else:
        out.copy_(states.to(matrix.dtype) @ matrix)


def add_product(states: Tensor, matrix: Tensor, out: Tensor) -> None:
    """out += states @ matrix, in the dtype of the matrix."""
    if matrix.dtype == states.dtype:
        out.addmm_(states, matrix)
    else:
        out.add_(states.to(matrix.dtype) @ matrix)
