"""Reading a forest, and invalid trees."""

from typing import Any

import sparsewood as sp

# heads, lengths, instance and the error
BAD_TREES: list[tuple[list[Any], list[Any], list[int], str]] = [
    ([[0, 1, 2], [2, 3, 2]], [3], [0, 0], "tree 1: the heads form a cycle, 3 -> 2 -> 3"),
    ([[0, 2, 1]], [3], [0], "tree 0: the heads form a cycle, 2 -> 2"),
    ([[0, 4, 1]], [3], [0], "tree 0: the head of word 2 is 4, expected 0 to 3"),
    ([[0, -1, -1]], [2], [0], "tree 0: the head of word 2 is -1, expected 0 to 2"),
    ([[0, 1, 1]], [2], [0], "tree 0: the head of word 3 is 1, expected the padding -1"),
    ([[0, 1], [0, 1]], [2], [0, 1], "tree 1: instance 1 is none of the 1 sentences"),
    ([[0, 1]], [3], [0], r"lengths\[0\] is 3, expected 1 to 2"),
    ([[0, 1]], [2, 0], [0], r"lengths\[1\] is 0, expected 1 to 2"),
    ([[0, 1]], [2, 3], [1], r"lengths\[1\] is 3, expected 1 to 2"),
    ([[0, 1]], [2], [0, 0], r"instance: expected int64 of shape \(1,\)"),
    ([0, 1], [2], [0], "heads: expected int64 of 2 dimensions"),
    ([[0.0, 1.0]], [2], [0], "heads: expected int64 of 2 dimensions, got torch.float32"),
    ([[0, 1]], [[2]], [0], "lengths: expected int64 of 1 dimensions"),
]


def read_node(forest: sp.Forest, node: int) -> tuple[Any, ...]:
    """The subtree of a node of the forest, words counted from 1."""
    flat = int(forest.word[node])
    begin, end = forest.child_offsets[node : node + 2].tolist()
    below = (read_node(forest, k) for k in forest.children[begin:end].tolist())
    return 0 if flat < 0 else flat % forest.shape[1] + 1, tuple(below)
