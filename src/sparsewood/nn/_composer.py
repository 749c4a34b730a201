"""Compositions over a forest as modules."""

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
    """Word vectors and a forest to the states of root nodes.

    Args:
        input_size: dimensions of a word vector.
        hidden_size: dimensions of a state.
        root: the input vector of root nodes, which have no word: "zero", or "learned".

    Attributes:
        reads_soft: whether `read` takes posteriors without structures, whose parts are soft.
        reads_parts: whether a gradient goes from the states to the parts of a tree, by the weights
            on the edges of the forest.
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
        """The states (N, hidden) of all nodes, from W x + b of the words and of a root (W + 1, .).

        They are of the dtype of the inputs, or float32 where that is narrower.
        """

    def read(self, x: Tensor, posterior: Posterior) -> Tensor:
        """The states (T, hidden_size) of the trees of a posterior over the sentences x (B, n, .).

        Where the posterior's `parts` carry the gradient of the scores, it goes by the weights of
        the forest.
        """
        return self(x, posterior.forest())

    def subtrees(self, x: Tensor, forest: Forest, weights: Tensor) -> Tensor:
        """The expected state of the subtree that each word heads, under a posterior over trees.

            s_i = sum_h p(h | x) (the state of word i's node in tree h)

        Args:
            x: (B, n, input_size) word vectors, as in a call.
            forest: the trees.
            weights: (T,) their probabilities.

        Returns:
            (B, n, hidden_size), zero beyond the lengths; differentiable with respect to all.
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
        are kept in float32 at least; the matrix products are in the dtype of `x` or, under
        autocast, in that of autocast, and so is the result. Kernels multiply small levels in that
        of the states.

        Args:
            x: (B, n, input_size) word vectors; those beyond the lengths are not read.
            forest: the trees, on the device of `x`.
            return_nodes: whether to return the states of all nodes too.

        Returns:
            (T, hidden_size); with `return_nodes` also (N, hidden_size).
        """
        check_words(x, self.input_size)
        if x.shape[:-1] != forest.shape or x.device != forest.row.device:
            raise ValueError(
                f"the forest is over (B, n) = {forest.shape} words on {forest.row.device}, "
                f"the word vectors have shape {tuple(x.shape)} and are on {x.device}"
            )
        if forest.weights is not None and not self.reads_parts:
            raise ValueError(
                f"{type(self).__name__} reads no weights of edges; ChildSumTreeLSTM, TreeGRU and "
                "TreeMessages do"
            )
        words = x.flatten(0, 1)
        # A graph cannot ask whether there is padding.
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
    """A composition whose children have no order, level by level; subclasses supply the cell."""

    each: int  # how many blocks of rows in W and U, the last ones, are for each child

    def __init__(
        self, input_size: int, hidden_size: int, *, root: Literal["zero", "learned"] = "zero"
    ) -> None:
        super().__init__(input_size, hidden_size, root=root)
        self.recurrent = nn.Linear(hidden_size, self.gates * hidden_size, bias=False)

    @abstractmethod
    def cell(self, forest: Forest) -> Composition:
        """The passes that serve a forest, on its device."""

    def compose(self, inputs: Tensor, forest: Forest) -> Tensor:
        split = (self.gates - self.each) * self.hidden_size
        cell = self.cell(forest)
        weight = self.recurrent.weight
        if torch.compiler.is_compiling():
            return compose_in_graph(inputs, weight, split, type(cell).__name__, forest)
        return cast(Tensor, Compose.apply(inputs, weight, forest.weights, split, forest, cell))
