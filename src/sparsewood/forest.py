"""A shared graph of many trees, so that a network runs once per distinct subtree."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._internal import cuda_forest
from sparsewood._internal import display as _display
from sparsewood._internal.lazy import lazy
from sparsewood._internal.numbers import counted

_MOVED = 6  # the first fields of a forest are on the device, the others on the CPU


class Level(NamedTuple):
    """The nodes `begin:end` and, in `children` and `parents`, their edges."""

    begin: int
    end: int
    first_edge: int
    last_edge: int


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """`T` trees over `B` sentences as a graph of `N` nodes, one per distinct subtree.

    A node is a word with its set of child nodes; the root node of a tree has no word. Trees that
    SparseMAP selects for a sentence differ in a few arcs and share most of their nodes. Sentences
    never share nodes. With edge weights, trees do not share nodes either, as each edge has its own
    weight.

    Nodes are numbered level by level. The level of a word's node is its height (0 for a leaf), so
    children are in lower levels. The last level holds the root nodes of all trees.

    Attributes:
        words: (W,) int64, the words of all sentences as flat indices into (B, n).
        row: (N,) int64, the index into `words` of each node; `W` for a root node.
        child_offsets: (N + 1,) int64. The children of node j are
            `children[child_offsets[j] : child_offsets[j + 1]]`.
        children: (E,) int64 nodes, the children of one node in the order of their words.
        parents: (E,) int64, the parent of each entry of `children`.
        roots: (T,) int64, the root node of each tree.
        bounds: (2, levels + 1) int64 on the CPU, the first node and the first edge of each level.
        tree_nodes: () int64 on the CPU, the total number of nodes of the individual trees.
        shape: (B, n), sentences and padded words.
        weights: (E,) floating, factor of each edge on the state of its child, on the device of the
            trees; may carry a gradient. None: all are 1.
    """

    words: Tensor
    row: Tensor
    child_offsets: Tensor
    children: Tensor
    parents: Tensor
    roots: Tensor
    bounds: Tensor
    tree_nodes: Tensor
    shape: tuple[int, int]
    weights: Tensor | None = None

    @classmethod
    def from_heads(
        cls, heads: Tensor, lengths: Tensor, instance: Tensor, *, weights: Tensor | None = None
    ) -> "Forest":
        """The forest of the trees `heads`, on their device.

        If the device has kernels, the graph is built there, with one copy of its sizes to the host.

        Args:
            heads: (T, n) int64. `heads[t, i]` is the head of word i + 1: 0 for the root, j for
                word j; -1 beyond the sentence.
            lengths: (B,) int64, number of words of each sentence.
            instance: (T,) int64, the sentence of each tree, in any order.
            weights: (T, n) floating, weight of the edge from each word to its head, on the device
                of `heads`; not read beyond the sentence. Trees then share no nodes.

        Raises:
            ValueError: the shapes do not fit, a length is not in 1..n, or the heads of a tree are
                out of range, not padded to the length of its sentence, or cyclic.
        """
        for name, tensor, ndim in (("heads", heads, 2), ("lengths", lengths, 1)):
            if tensor.ndim != ndim or tensor.dtype != torch.int64:
                raise ValueError(
                    f"{name}: expected int64 of {ndim} dimensions, "
                    f"got {tensor.dtype} of shape {tuple(tensor.shape)}"
                )
        if instance.shape != heads.shape[:1] or instance.dtype != torch.int64:
            raise ValueError(
                f"instance: expected int64 of shape ({len(heads)},) for heads of shape "
                f"{tuple(heads.shape)}, got {instance.dtype} of shape {tuple(instance.shape)}"
            )
        apart = weights is not None
        if apart and (weights.shape != heads.shape or not weights.is_floating_point()):
            raise ValueError(
                f"weights: expected floating of the shape of heads, {tuple(heads.shape)}, "
                f"got {weights.dtype} of shape {tuple(weights.shape)}"
            )
        build = _build_op if torch.compiler.is_compiling() else _build
        *tensors, places = build(heads, lengths, instance, apart)
        chosen = None if weights is None else weights.flatten().index_select(0, places)
        return cls(*tensors, shape=(lengths.shape[0], heads.shape[1]), weights=chosen)

    @lazy
    def level_offsets(self) -> tuple[int, ...]:
        """Level l has the nodes `level_offsets[l]` to `level_offsets[l + 1]`, exclusive."""
        return tuple(self.bounds[0].tolist())

    @lazy
    def edge_offsets(self) -> tuple[int, ...]:
        """Level l has the edges `edge_offsets[l]` to `edge_offsets[l + 1]`, exclusive."""
        return tuple(self.bounds[1].tolist())

    @property
    def num_tree_nodes(self) -> int:
        """The total number of nodes of the individual trees."""
        return int(self.tree_nodes)

    @property
    def num_nodes(self) -> int:
        """N, the number of distinct nodes."""
        return len(self.row)

    @property
    def num_word_nodes(self) -> int:
        """The number of nodes that are not roots; they come first."""
        return self.level_offsets[-2] if self.num_nodes else 0

    @property
    def sharing(self) -> float:
        """`num_tree_nodes / num_nodes`."""
        return self.num_tree_nodes / self.num_nodes if self.num_nodes else 1.0

    @lazy
    def levels(self) -> tuple[Level, ...]:
        """The levels from the leaves to the roots."""
        return tuple(
            Level(*nodes, *edges)
            for nodes, edges in zip(
                pairwise(self.level_offsets), pairwise(self.edge_offsets), strict=True
            )
        )

    @lazy
    def word(self) -> Tensor:
        """(N,) int64: the word of each node as a flat index into (B, n), -1 for a root node."""
        return torch.cat([self.words, self.words.new_tensor([-1])])[self.row]

    def node_weights(self, weights: Tensor) -> Tensor:
        """(N,) the total weight of the trees that contain each node, given their weights (T,).

        Differentiable. Computed from the roots down: a node's weight is the sum over its parents.
        """
        if weights.shape != self.roots.shape:
            raise ValueError(
                f"weights: expected {tuple(self.roots.shape)}, one per tree, "
                f"got {tuple(weights.shape)}"
            )
        total = weights.new_zeros(self.num_nodes).index_add(0, self.roots, weights)
        for level in reversed(self.levels[1:]):  # leaves have no edges
            edges = slice(level.first_edge, level.last_edge)
            above = total.index_select(0, self.parents[edges])
            total = total.index_add(0, self.children[edges], above)
        return total

    @lazy
    def transposed(self) -> tuple[Tensor, ...]:
        """The reversed edges that backward kernels use; see `cuda_forest.turn`."""
        return cuda_forest.turn(self.children, self.row, self.num_word_nodes, self.words.shape[0])

    def to(self, device: torch.device | str) -> "Forest":
        """The forest on another device, copied in one transfer."""
        device = torch.device(device)
        if device == self.row.device:
            return self
        names = [field.name for field in fields(self)][:_MOVED]
        moved = _move([self._get(name) for name in names], device)
        weights = None if self.weights is None else self.weights.to(device)
        return replace(self, **dict(zip(names, moved, strict=True)), weights=weights)

    def _get(self, name: str) -> Tensor:
        return getattr(self, name)

    def __repr__(self) -> str:
        return (
            f"Forest({counted(len(self.roots), 'tree')} over {counted(self.shape[0], 'sentence')}, "
            f"{counted(self.num_nodes, 'node')} in {counted(len(self.levels), 'level')}, "
            f"sharing {self.sharing:.2f})"
        )

    def _repr_html_(self) -> str | None:
        """For notebooks: statistics, and the graph of one sentence."""
        return _display.html(self)


def _move(tensors: list[Tensor], device: torch.device) -> Sequence[Tensor]:
    """Copy tensors of one dtype to another device in one transfer."""
    packed = torch.cat(tensors)
    # Only pinned memory is copied asynchronously; compiled graphs cannot pin memory.
    pinned = device.type == "cuda" and packed.is_cpu and not torch.compiler.is_compiling()
    if pinned:
        packed = packed.pin_memory()
    moved = packed.to(device, non_blocking=pinned)
    return moved.split([len(tensor) for tensor in tensors])


def _build(heads: Tensor, lengths: Tensor, instance: Tensor, apart: bool) -> list[Tensor]:
    """The tensors of a forest, and the word of each edge as a flat index into (T, n).

    The latter is empty unless trees are kept `apart`, as only then each edge has one word. `bounds`
    are on the CPU, other tensors on the device of the heads.
    """
    found = cuda_forest.build(heads, lengths, instance, apart)
    if found is not None:
        return found
    trees, sizes, of = (tensor.cpu().contiguous() for tensor in (heads, lengths, instance))
    *graph, bounds, tree_nodes, places = _build_on_host(trees, sizes, of, apart)
    if heads.device.type != "cpu":
        *graph, places = _move([*graph, places], heads.device)
    return [*graph, bounds, tree_nodes, places]


def _build_on_host(heads: Tensor, lengths: Tensor, instance: Tensor, apart: bool) -> list[Tensor]:
    """`_build` for tensors on the CPU."""
    if not apart:
        return [*_build_shared(heads, lengths, instance), torch.empty(0, dtype=torch.int64)]
    n, all_words = heads.shape[1], _build_shared(heads[:0], lengths, instance[:0])[0]
    for tree, b in enumerate(instance.tolist()):
        if not 0 <= b < len(lengths):
            raise ValueError(f"tree {tree}: instance {b} is none of the {len(lengths)} sentences")
    # Sentences share nothing: build with one sentence per tree, then map words back.
    words, row, *graph = _build_shared(heads, lengths[instance], torch.arange(len(heads)))
    starts = lengths.cumsum(0) - lengths
    rows = torch.cat([starts[instance[words // n]] + words % n, torch.tensor([len(all_words)])])
    return [all_words, rows[row], *graph, words[row[graph[1]]]]


def _build_shared(heads: Tensor, lengths: Tensor, instance: Tensor) -> list[Tensor]:
    *arrays, offsets, tree_nodes = _native.build_forest(
        heads.numpy(), lengths.numpy(), instance.numpy()
    )
    tensors = [torch.from_numpy(array) for array in arrays]
    offsets = torch.from_numpy(offsets)
    return [*tensors, torch.stack([offsets, tensors[2][offsets]]), torch.tensor(tree_nodes)]


@torch.library.custom_op("sparsewood::build_forest", mutates_args=())
def _build_op(heads: Tensor, lengths: Tensor, instance: Tensor, apart: bool) -> list[Tensor]:
    # The results of an op must not share memory.
    return [tensor.clone() for tensor in _build(heads, lengths, instance, apart)]


@_build_op.register_fake
def _(heads: Tensor, lengths: Tensor, instance: Tensor, apart: bool) -> list[Tensor]:
    context = torch.library.get_ctx()
    words, nodes, edges, levels = (context.new_dynamic_size() for _ in range(4))
    graph = (words, nodes, nodes + 1, edges, edges, heads.shape[0])
    bounds, tree_nodes = torch.empty((2, levels), dtype=torch.int64), torch.tensor(0)
    places = heads.new_empty(edges if apart else 0)
    return [*(heads.new_empty(size) for size in graph), bounds, tree_nodes, places]
