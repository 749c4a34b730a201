"""Base classes of modules that compose over a forest."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, cast, overload

import torch
from torch import Tensor, nn

from sparsewood.forest import Forest
from sparsewood.nn._check import check_words, root_vector
from sparsewood.nn._graph import compose_in_graph
from sparsewood.nn._levels import Compose, Composition
from sparsewood.posterior import Posterior


class TreeComposer(nn.Module, ABC):
    """Maps word vectors and a forest to the states of root nodes.

    Args:
        input_size: dimensions of a word vector.
        hidden_size: dimensions of a state.
        root: the input vector of root nodes, which have no word: "zero", or "learned".

    Attributes:
        reads_soft: whether `read` takes posteriors with soft parts instead of structures.
        reads_parts: whether the states are differentiable in the parts of a tree, through the
            weights of the edges of the forest.
    """

    gates: int  # blocks of `hidden_size` rows in W
    reads_soft: ClassVar[bool] = False
    reads_parts: ClassVar[bool] = True

    def __init__(
        self, input_size: int, hidden_size: int, *, root: Literal["zero", "learned"] = "zero"
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.input = nn.Linear(input_size, self.gates * hidden_size)
        self.root = root_vector(root, input_size)

    @abstractmethod
    def compose(self, inputs: Tensor, forest: Forest) -> Tensor:
        """The states (N, hidden) of all nodes, given W x + b of the words and of a root (W + 1, .).

        Their dtype is that of the inputs, but at least float32.
        """

    def read(self, x: Tensor, posterior: Posterior) -> Tensor:
        """The states (T, hidden_size) of the trees of a posterior over the sentences x (B, n, .).

        If the posterior's `parts` carry the gradient to the scores, it goes through the edge
        weights of the forest.
        """
        return self(x, posterior.forest())

    def subtrees(self, x: Tensor, forest: Forest, weights: Tensor) -> Tensor:
        """The expected state of the subtree headed by each word, under a posterior over trees.

            s_i = sum_h p(h | x) (the state of word i's node in tree h)

        Args:
            x: (B, n, input_size) word vectors, as in a call.
            forest: the trees.
            weights: (T,) the probabilities of the trees.

        Returns:
            (B, n, hidden_size), zero beyond the lengths; differentiable in all inputs.
        """
        _, nodes = self(x, forest, return_nodes=True)
        words = forest.num_word_nodes
        shares = forest.node_weights(weights)[:words, None].to(nodes.dtype)
        flat = nodes.new_zeros(x.shape[0] * x.shape[1], self.hidden_size)
        flat = flat.index_add(0, forest.word[:words], shares * nodes[:words])
        return flat.unflatten(0, x.shape[:2])

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
        are at least float32. Matrix products and the result have the dtype of `x` or, under
        autocast, the autocast dtype; kernels multiply small levels in the dtype of the states.

        Args:
            x: (B, n, input_size) word vectors; not read beyond the lengths.
            forest: the trees, on the device of `x`.
            return_nodes: whether to also return the states of all nodes.

        Returns:
            (T, hidden_size); with `return_nodes` also (N, hidden_size).
        """
        check_words(x, self.input_size)
        if x.shape[:-1] != forest.shape or x.device != forest.row.device:
            raise ValueError(
                f"word vectors: expected (B, n) = {forest.shape} on {forest.row.device} for this "
                f"forest, got shape {tuple(x.shape)} on {x.device}"
            )
        if forest.weights is not None and not self.reads_parts:
            raise ValueError(
                f"{type(self).__name__} does not support weighted edges; use ChildSumTreeLSTM, "
                "TreeGRU or TreeMessages"
            )
        words = x.flatten(0, 1)
        # A compiled graph cannot branch on whether there is padding.
        if torch.compiler.is_compiling() or len(forest.words) < len(words):
            words = words.index_select(0, forest.words)
        root = words.new_zeros(self.input_size) if self.root is None else self.root.to(x.dtype)
        inputs = self.input(torch.cat([words, root[None]]))
        h = self.compose(inputs, forest)
        roots = h.index_select(0, forest.roots).to(inputs.dtype)
        return (roots, h.to(inputs.dtype)) if return_nodes else roots

    def extra_repr(self) -> str:
        root = "zero" if self.root is None else "learned"
        return f"{self.input_size}, {self.hidden_size}, root={root!r}"


class LevelComposer(TreeComposer):
    """Composes level by level, ignoring the order of children; subclasses define the cell."""

    each: int  # the last blocks of rows in W and U, for gates per child

    def __init__(
        self, input_size: int, hidden_size: int, *, root: Literal["zero", "learned"] = "zero"
    ) -> None:
        super().__init__(input_size, hidden_size, root=root)
        self.recurrent = nn.Linear(hidden_size, self.gates * hidden_size, bias=False)

    @abstractmethod
    def cell(self, forest: Forest) -> Composition:
        """The implementation for a forest on its device."""

    def compose(self, inputs: Tensor, forest: Forest) -> Tensor:
        split = (self.gates - self.each) * self.hidden_size
        cell = self.cell(forest)
        weight = self.recurrent.weight
        if torch.compiler.is_compiling():
            return compose_in_graph(inputs, weight, split, type(cell).__name__, forest)
        return cast(Tensor, Compose.apply(inputs, weight, forest.weights, split, forest, cell))
