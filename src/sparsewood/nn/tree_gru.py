"""A Child-Sum TreeGRU over a forest."""

import torch
from torch import Tensor

from sparsewood.forest import Forest, Level
from sparsewood.nn._composer import LevelComposer
from sparsewood.nn._cuda_levels import KernelCell
from sparsewood.nn._levels import Cell, Composition, States, Step


class TreeGRU(LevelComposer):
    """A gated recurrent unit whose previous state is the sum over the children.

    The Child-Sum GRU of Zhou, Liu & Pan (2016), "Modelling sentence pairs with tree-structured
    attentive encoder", with the reset gate applied after the matrix product as in
    `torch.nn.GRU`. Node j with input x_j (zero or learned at a root node) and children C(j):

        s_j = sum_k h_k
        r_j = sigmoid(W_r x_j + b_r + U_r s_j)                likewise z_j
        v_j = tanh(W_v x_j + b_v + r_j * U_v s_j)
        h_j = (1 - z_j) * v_j + z_j * s_j

    If the edges of the forest have weights w_k, w_k h_k replaces h_k. `input` holds W and b,
    `recurrent` holds U, with rows in the order r, z, v. Differentiable once.
    """

    gates, each = 3, 1

    def cell(self, forest: Forest) -> Composition:
        return KernelGRU() if KernelGRU.serves(forest) else _GRUCell()


class KernelGRU(KernelCell):
    """The TreeGRU by kernels; formulas in native/cuda/tree_gru.cuh."""

    cell, gates = "gru", 3
    of_edges, carries = False, False  # U_v s and s


class _GRUCell(Cell):
    def buffers(self, forest: Forest, h: Tensor) -> tuple[Tensor, ...]:
        """U_v s (N, hidden)."""
        return (torch.zeros_like(h),)

    def up(self, forest: Forest, states: States, buffers: tuple[Tensor, ...]) -> Step:
        (product,) = buffers
        n = product.shape[1]

        def step(level: Level) -> None:
            nodes, edges = slice(level.begin, level.end), slice(level.first_edge, level.last_edge)
            below = states.products.index_select(0, forest.children[edges])
            product.index_add_(0, forest.parents[edges], states.weighted(below, edges))
            states.gates[nodes, : 2 * n].sigmoid_()
            r, z, v = states.gates[nodes].split(n, 1)
            v.addcmul_(r, product[nodes]).tanh_()
            torch.lerp(v, states.sums[nodes], z, out=states.h[nodes])

        return step

    def down(self, forest: Forest, states: States, buffers: tuple[Tensor, ...], on: States) -> Step:
        (product,) = buffers
        n = product.shape[1]

        def step(level: Level) -> None:
            nodes, edges = slice(level.begin, level.end), slice(level.first_edge, level.last_edge)
            child, parent = forest.children[edges], forest.parents[edges] - level.begin
            r, z, v = states.gates[nodes].split(n, 1)
            above = on.h[nodes]
            on_v = above * (1 - z) * (1 - v * v)
            on_r = on_v * product[nodes] * r * (1 - r)
            on_z = above * (states.sums[nodes] - v) * z * (1 - z)
            torch.cat([on_r, on_z, on_v], 1, out=on.gates[nodes])
            on_product = (on_v * r).index_select(0, parent)
            on_child = (above * z).index_select(0, parent)
            on.products.index_add_(0, child, states.weighted(on_product, edges))
            on.h.index_add_(0, child, states.weighted(on_child, edges))
            if on.edges is not None:
                on_product *= states.products.index_select(0, child)
                on_product.addcmul_(on_child, states.h.index_select(0, child))
                torch.sum(on_product, 1, keepdim=True, out=on.edges[edges])

        return step
