"""The Child-Sum TreeLSTM over a forest."""

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood.forest import Forest, Level
from sparsewood.nn._composer import LevelComposer
from sparsewood.nn._cuda_levels import KernelCell
from sparsewood.nn._levels import AddRows, Cell, Composition, States, Step

_sigmoid_backward = torch.ops.aten.sigmoid_backward
_tanh_backward = torch.ops.aten.tanh_backward


class ChildSumTreeLSTM(LevelComposer):
    """The Child-Sum TreeLSTM of Tai, Socher & Manning (2015), section 3.1.

    Node j with input x_j (zero or learned at a root node) and children C(j):

        i_j  = sigmoid(W_i x_j + b_i + sum_k U_i h_k)        o_j alike
        u_j  = tanh(W_u x_j + b_u + sum_k U_u h_k)
        f_jk = sigmoid(W_f x_j + b_f + U_f h_k)              one for each child
        c_j  = i_j * u_j + sum_k f_jk * c_k
        h_j  = o_j * tanh(c_j)

    Where the edges of the forest have weights w_k, w_k h_k and w_k c_k take the places of h_k and
    c_k. `input` holds W and b, `recurrent` U, with rows in the order i, o, u, f.

        composer = ChildSumTreeLSTM(300, 300)
        vectors = composer(x, posterior.forest())            # (T, 300), one for each tree

    The whole forest is one step of autograd, differentiable once.
    """

    gates, each = 4, 1

    def cell(self, forest: Forest) -> Composition:
        if KernelLSTM.serves(forest):
            return KernelLSTM()
        native = forest.row.device.type == "cpu" and forest.weights is None
        return NativeCell() if native else TorchCell()


class KernelLSTM(KernelCell):
    """On a device that has kernels; its formulas: native/cuda/tree_lstm.cuh."""

    cell, gates = "lstm", 4
    of_edges, carries = True, True  # f and c


class NativeCell(Cell):
    """On the CPU, in float32 or float64, without weights; its formulas: native/tree_lstm.h."""

    def buffers(self, forest: Forest, h: Tensor) -> tuple[Tensor, ...]:
        """f of each edge (E, hidden) and c (N, hidden)."""
        return h.new_empty(forest.children.shape[0], h.shape[1]), torch.empty_like(h)

    def up(self, forest: Forest, states: States, buffers: tuple[Tensor, ...]) -> Step:
        graph = (forest.child_offsets, forest.children)
        tensors = (*graph, states.gates, *buffers, states.products, states.h)
        run = _native.lstm_up_levels(*(tensor.numpy() for tensor in tensors))
        return lambda level: run(level.begin, level.end)

    def down(self, forest: Forest, states: States, buffers: tuple[Tensor, ...], on: States) -> Step:
        graph = (forest.child_offsets, forest.children)
        gradients = (on.h, torch.zeros_like(on.h), on.gates, on.products)
        tensors = (*graph, states.gates, *buffers, *gradients)
        run = _native.lstm_down_levels(*(tensor.numpy() for tensor in tensors))
        return lambda level: run(level.begin, level.end)

    def add_rows(
        self, out: Tensor, to: Tensor, values: Tensor, source: Tensor, states: States
    ) -> AddRows:
        tensors = (out, to, values, source)
        return _native.add_rows_levels(*(tensor.detach().numpy() for tensor in tensors))


class TorchCell(Cell):
    """On any device."""

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
