"""A composition over a forest that reads the children of a node in order."""

from typing import Literal

import torch
from torch import Tensor, nn

from sparsewood.forest import Forest
from sparsewood.nn._composer import TreeComposer
from sparsewood.nn._steps import EPS, read


class OrderedComposer(TreeComposer):
    """Reads the children of a node from left to right, by a gated cell with a hidden layer.

    The cell is that of Shen et al. (2019), "Ordered Memory", with the GELU of Chowdhury
    & Caragea (2021). Node j with input x_j (zero or learned at a root node) and children c_1, c_2
    and so on in the order of their words:

        s_0       = norm(W x_j + b)
        a_t       = gelu(W_1 [s_(t-1); h_(c_t)] + b_1)
        f, i, g, v = W_2 a_t + b_2                             each of the size of a state
        s_t       = norm(sigmoid(f) * s_(t-1) + sigmoid(i) * h_(c_t) + sigmoid(g) * v)
        h_j       = the last s_t

    The hidden layer lets a step approximate any function of the state and the child, such as a sum
    modulo ten. A forest takes as many steps as its slowest tree; a flat tree and a chain of n words
    both take about n.

        composer = OrderedComposer(64, 64)
        vectors = composer(x, posterior.forest())            # (T, 64), one per tree

    Args:
        input_size: dimensions of a word vector.
        hidden_size: dimensions of a state.
        inner_size: dimensions of a_t. Default: twice `hidden_size`.
        root: the input vector of root nodes, which have no word: "zero", or "learned".

    The whole forest is one autograd function, differentiable once. It breaks compiled graphs.
    """

    gates = 1
    reads_parts = False

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        inner_size: int | None = None,
        *,
        root: Literal["zero", "learned"] = "zero",
    ) -> None:
        super().__init__(input_size, hidden_size, root=root)
        inner_size = 2 * hidden_size if inner_size is None else inner_size
        self.inner = nn.Linear(2 * hidden_size, inner_size)
        self.outer = nn.Linear(inner_size, 4 * hidden_size)
        self.norm = nn.LayerNorm(hidden_size, eps=EPS)

    def compose(self, inputs: Tensor, forest: Forest) -> Tensor:
        dtype = torch.promote_types(inputs.dtype, torch.float32)
        gain, shift = self.norm.weight, self.norm.bias
        with torch.autocast(inputs.device.type, enabled=False):
            words = nn.functional.layer_norm(
                inputs.to(dtype), (self.hidden_size,), gain.to(dtype), shift.to(dtype), EPS
            )
        layers = (self.inner.weight, self.inner.bias, self.outer.weight, self.outer.bias)
        return read(words, forest, inputs.dtype, *layers, gain, shift)
