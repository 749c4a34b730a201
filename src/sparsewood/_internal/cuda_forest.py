"""Builds the graph of a forest on a GPU, by the kernels of native/cuda/forest.cuh."""

from itertools import accumulate

import torch
from torch import Tensor

from sparsewood._internal.cuda import Program, load

_STEPS = ("forest_share", "forest_scan", "forest_number", "forest_link")
_PROGRAM = Program(
    '#include "cuda/forest.cuh"', ("forest_read", "forest_read_large", *_STEPS, "forest_turn")
)
_NUMBERS = 4  # counters of the kernels, before the nodes and edges of each level
_SHARED = 48 * 1024  # bytes of shared memory, available on every device
_HASH = -1  # mask of the hash bits: all. Tests use fewer, to force collisions.


def build(heads: Tensor, lengths: Tensor, instance: Tensor, apart: bool) -> list[Tensor] | None:
    """The tensors of a forest and the word of each edge, as `forest._build_on_host` returns them.

    The tensors of the graph are on the device of the trees; their sizes take one copy to the host.
    None if there are no kernels, a tree is invalid or two hashes collide: then build on the host.
    """
    kernels = load(_PROGRAM, heads.device)
    if kernels is None or heads.numel() == 0:
        return None
    (trees, width), sentences = heads.shape, len(lengths)
    nodes, edges, memory = trees * (width + 1), trees * width, 16 * (width + 1)
    large = memory > _SHARED
    capacity = 1 if apart else 1 << (2 * nodes - 1).bit_length()
    zeroed = heads.new_zeros(_NUMBERS + width + 1 + nodes + 2 * capacity)
    room = heads.new_empty((8 if large else 6) * nodes + sentences)
    sizes = [sentences * width, nodes, nodes + 1, edges, edges, trees, edges if apart else 0]
    out = heads.new_empty(sum(sizes))
    tensors = [tensor.to(heads.device).contiguous() for tensor in (heads, lengths, instance)]
    numbers = (trees, width, sentences, int(apart), capacity, _HASH)
    arguments = (*tensors, zeroed, room, out, *numbers)
    if large:
        kernels.launch("forest_read_large", trees, 32, *arguments)
    else:
        kernels.launch("forest_read", trees, 32, *arguments, shared=memory)
    grids = ((trees, 32), (width + 2, 256), (trees, 32), (trees + sentences, 32))
    for step, (grid, block) in zip(_STEPS, grids, strict=True):
        kernels.launch(step, grid, block, *arguments)
    failed, tree_nodes, words, top, *counts = zeroed[: _NUMBERS + width + 1].tolist()
    if failed:
        return None
    levels = counts[: top + 1]
    node_bounds = list(accumulate((count >> 32 for count in levels), initial=0))
    edge_bounds = list(accumulate((count & 0xFFFFFFFF for count in levels), initial=0))
    nodes, edges = node_bounds[-1], edge_bounds[-1]
    used = (words, nodes, nodes + 1, edges, edges, trees, edges if apart else 0)
    *graph, places = (
        part.narrow(0, 0, size) for part, size in zip(out.split(sizes), used, strict=True)
    )
    return [*graph, torch.tensor([node_bounds, edge_bounds]), torch.tensor(tree_nodes), places]


def turn(children: Tensor, row: Tensor, word_nodes: int, words: int) -> tuple[Tensor, ...]:
    """The edges grouped by child node, and the nodes of words grouped by row.

    Args:
        children: (E,) int64, as in a forest, on a device with kernels.
        row: (N,) int64, as in a forest.
        word_nodes: number of nodes with a word.
        words: W, number of rows.

    Returns:
        offsets (N + 1,), edges (E,), row offsets (W + 1,), nodes (word nodes,): the edges to node k
        are `edges[offsets[k] : offsets[k + 1]]`, in order; likewise for the nodes of a row.
    """
    kernels = load(_PROGRAM, children.device)
    assert kernels is not None
    edges, nodes = len(children), len(row)
    sizes = [nodes + 1, edges, words + 1, word_nodes]
    *found, room = children.new_empty(2 * sum(sizes)).split([*sizes, sum(sizes)])
    block = min(1024, -(-max(sizes) // 32) * 32)
    counts = (edges, nodes, word_nodes, words)
    kernels.launch("forest_turn", 2, block, children, row, *counts, *found, room)
    return tuple(found)
