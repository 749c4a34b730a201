"""The Child-Sum TreeLSTM over a forest."""

from collections.abc import Sequence

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood.forest import Forest, Level
from sparsewood.nn._composer import LevelComposer
from sparsewood.nn._cuda_levels import KernelCell
from sparsewood.nn._levels import Cell, Composition, States, Step, add_product, multiply

_sigmoid_backward = torch.ops.aten.sigmoid_backward
_tanh_backward = torch.ops.aten.tanh_backward


class ChildSumTreeLSTM(LevelComposer):
    """The Child-Sum TreeLSTM of Tai, Socher & Manning (2015), section 3.1.

    Node j with input x_j (zero or learned at a root node) and children C(j):

        i_j  = sigmoid(W_i x_j + b_i + sum_k U_i h_k)        likewise o_j
        u_j  = tanh(W_u x_j + b_u + sum_k U_u h_k)
        f_jk = sigmoid(W_f x_j + b_f + U_f h_k)              one per child
        c_j  = i_j * u_j + sum_k f_jk * c_k
        h_j  = o_j * tanh(c_j)

    If the edges of the forest have weights w_k, w_k h_k and w_k c_k replace h_k and c_k. `input`
    holds W and b, `recurrent` holds U, with rows in the order i, o, u, f.

        composer = ChildSumTreeLSTM(300, 300)
        vectors = composer(x, posterior.forest())            # (T, 300), one per tree

    The whole forest is one autograd function, differentiable once.
    """

    gates, each = 4, 1

    def cell(self, forest: Forest) -> Composition:
        if KernelLSTM.serves(forest):
            return KernelLSTM()
        native = forest.row.device.type == "cpu" and forest.weights is None
        return NativeCell() if native else TorchCell()


class KernelLSTM(KernelCell):
    """The TreeLSTM by kernels; formulas in native/cuda/tree_lstm.cuh."""

    cell, gates = "lstm", 4
    of_edges, carries = True, True  # f and c


class NativeCell(Composition):
    """The TreeLSTM on the CPU, float32 or float64, no edge weights; see native/nn/tree_lstm.h.

    Leaves are excluded from products of sums, and only gates that both passes read are saved.
    """

    def kept(self, forest: Forest, h: Tensor, columns: int) -> list[Tensor]:
        """h, the gates i, o, u (N, 3 hidden), sums and c (N, hidden), f of each edge (E, hidden).

        The sums are not set at leaves.
        """
        nodes, hidden = h.shape
        forget = h.new_empty(forest.children.shape[0], hidden)
        return [h, h.new_empty(nodes, 3 * hidden), torch.empty_like(h), forget, torch.empty_like(h)]

    def pass_up(
        self, inputs: Tensor, weight: Tensor, split: int, forest: Forest
    ) -> Sequence[Tensor]:
        weight = weight.to(inputs.dtype)
        values = inputs.to(torch.promote_types(inputs.dtype, torch.float32)).contiguous()
        h = values.new_empty(forest.num_nodes, weight.shape[1])
        h, gates, sums, *buffers = kept = self.kept(forest, h, len(weight))
        products = torch.empty_like(h)
        graph = (forest.row, forest.child_offsets, forest.children)
        tensors = (*graph, values, products, h, gates, sums, *buffers)
        run = _native.lstm_up_levels(*(tensor.numpy() for tensor in tensors))
        for_sums, for_each = weight[:split].t(), weight[split:].t()
        ends = (*forest.level_offsets[2:], forest.num_nodes)
        with torch.autocast("cpu", enabled=False):
            for level, next_end, states, of_sums, sums_here, products_here in zip(
                forest.levels, ends, *_by_level(forest, h, gates, sums, products), strict=False
            ):
                if level.begin > 0:
                    multiply(sums_here, for_sums, out=of_sums)
                run(level.begin, level.end, next_end)
                if level.end < forest.num_nodes:
                    multiply(states, for_each, out=products_here)
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
        h, gates, sums, forget, c = kept
        own, weight = weight.dtype, weight.to(dtype)
        for_sums, for_each = weight[:split], weight[split:]
        given = on_h.to(h.dtype).contiguous()
        on_h, on_c, on_products = (torch.empty_like(h) for _ in range(3))
        on_gates, on_inputs = torch.empty_like(gates), h.new_empty(rows, len(weight))
        graph = (forest.row, forest.child_offsets, forest.children, forest.parents)
        on = (on_h, on_c, on_gates, on_products, on_inputs)
        tensors = (*graph, given, gates, forget, c, *on)
        collect, run = _native.lstm_down_levels(*(tensor.detach().numpy() for tensor in tensors))
        with torch.autocast("cpu", enabled=False):
            by_level = _by_level(forest, on_h, on_gates, on_products)
            for level, on_states, on_these, on_products_here in zip(
                reversed(forest.levels), *map(reversed, by_level), strict=True
            ):
                collect(level.begin, level.end)
                if level.end < forest.num_nodes:
                    add_product(on_products_here, for_each, out=on_states)
                run(level.begin, level.end)
                if level.begin > 0:  # the gradient of h is no longer needed: reuse it for the sums
                    multiply(on_these, for_sums, out=on_states)
            nothing = h.new_empty(0)
            if not learns:
                return on_inputs.to(dtype), nothing, nothing
            leaves = forest.level_offsets[1] if forest.num_nodes else 0
            words = forest.num_word_nodes
            on_weight = h.new_empty(weight.shape)
            multiply(on_gates[leaves:].t(), sums[leaves:].to(dtype), out=on_weight[:split])
            multiply(on_products[:words].t(), h[:words].to(dtype), out=on_weight[split:])
        return on_inputs.to(dtype), on_weight.to(own), nothing


def _by_level(forest: Forest, *tensors: Tensor) -> list[Sequence[Tensor]]:
    """The rows of each level, for tensors with one row per node."""
    sizes = [level.end - level.begin for level in forest.levels]
    return [tensor.split(sizes) for tensor in tensors]


class TorchCell(Cell):
    """The TreeLSTM in PyTorch, on any device."""

    def buffers(self, forest: Forest, h: Tensor) -> tuple[Tensor, ...]:
        """f of each edge (E, hidden) and c (N, hidden)."""
        return h.new_empty(forest.children.shape[0], h.shape[1]), torch.zeros_like(h)

    def up(self, forest: Forest, states: States, buffers: tuple[Tensor, ...]) -> Step:
        forget, c = buffers
        n = c.shape[1]

        def step(level: Level) -> None:
            nodes, edges = slice(level.begin, level.end), slice(level.first_edge, level.last_edge)
            gates = states.gates[nodes]
            if level.begin > 0:
                child, parent, f = forest.children[edges], forest.parents[edges], forget[edges]
                inputs = states.gates[:, 3 * n :].index_select(0, parent)
                product = states.weighted(states.products.index_select(0, child), edges)
                torch.sigmoid(inputs.add_(product), out=f)
                c.index_add_(0, parent, f * states.weighted(c.index_select(0, child), edges))
            gates[:, : 2 * n].sigmoid_()
            i, o, u, _ = gates.split(n, 1)
            torch.mul(o, c[nodes].addcmul_(i, u.tanh_()).tanh(), out=states.h[nodes])

        return step

    def down(self, forest: Forest, states: States, buffers: tuple[Tensor, ...], on: States) -> Step:
        forget, c = buffers
        on_c, n = torch.zeros_like(c), c.shape[1]

        def step(level: Level) -> None:
            nodes, edges = slice(level.begin, level.end), slice(level.first_edge, level.last_edge)
            i, o, u, _ = states.gates[nodes].split(n, 1)
            on_i, on_o, on_u, on_f = on.gates[nodes].split(n, 1)
            above, state, t = on.h[nodes], on_c[nodes], c[nodes].tanh()
            state += _tanh_backward(above * o, t)
            on_i.copy_(_sigmoid_backward(state * u, i))
            on_o.copy_(_sigmoid_backward(above * t, o))
            on_u.copy_(_tanh_backward(state * i, u))
            on_f.zero_()
            if level.begin > 0:
                child, parent, f = forest.children[edges], forest.parents[edges], forget[edges]
                from_parent, below = on_c.index_select(0, parent), c.index_select(0, child)
                on_edge = _sigmoid_backward(from_parent * states.weighted(below, edges), f)
                on.gates[:, 3 * n :].index_add_(0, parent, on_edge)
                on.products.index_add_(0, child, states.weighted(on_edge, edges))
                from_parent *= f
                on_c.index_add_(0, child, states.weighted(from_parent, edges))
                if on.edges is not None:
                    on_edge *= states.products.index_select(0, child)
                    on_edge.addcmul_(from_parent, below)
                    torch.sum(on_edge, 1, keepdim=True, out=on.edges[edges])

        return step
