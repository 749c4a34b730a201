"""The peer of the TreeLSTM, `pytorch-tree-lstm`, on the same trees with the same parameters."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

import torch
from torch import Tensor

import sparsewood as sp


def available() -> bool:
    return importlib.util.find_spec("treelstm") is not None


class Case:
    """Random trees with a single root child, as the peer has no root node.

    Both run forward and backward from the states of all words; ours has an additional root node.
    """

    def __init__(self, trees: int, words: int, hidden: int, device: torch.device) -> None:
        peer = importlib.import_module("treelstm")
        torch.manual_seed(0)
        family = sp.DependencyTrees(single_root=True)
        self.heads = family.argmax(torch.randn(trees, words, words + 1)).to(device)
        self.lengths = torch.full((trees,), words)
        self.x = torch.randn(trees, words, hidden, device=device).requires_grad_()
        self.ours_module = sp.nn.ChildSumTreeLSTM(hidden, hidden).to(device)
        self.peer_module = peer.TreeLSTM(hidden, hidden).to(device)
        self._same_parameters(3 * hidden)
        trees_as_read = [prepare(tree, peer) for tree in self.heads.tolist()]
        self.prepared = peer.batch_tree_input(trees_as_read)
        for name in ("node_order", "edge_order", "adjacency_list"):
            self.prepared[name] = self.prepared[name].to(device)

    def _same_parameters(self, border: int) -> None:
        """Ours hold the gates i, o, u and f in one matrix, the peer's f in another."""
        ours, peer = self.ours_module, self.peer_module
        with torch.no_grad():
            for source, iou, f in (
                (ours.input.weight, peer.W_iou.weight, peer.W_f.weight),
                (ours.input.bias, peer.W_iou.bias, peer.W_f.bias),
                (ours.recurrent.weight, peer.U_iou.weight, peer.U_f.weight),
            ):
                iou.copy_(source[:border])
                f.copy_(source[border:])

    def ours(self) -> tuple[Tensor, Tensor]:
        """The states of all words (words in all, hidden), and the gradient of their sum in `x`."""
        instance = torch.arange(len(self.heads), device=self.heads.device)
        forest = sp.Forest.from_heads(self.heads, self.lengths, instance)
        _, nodes = self.ours_module(self.x, forest, return_nodes=True)
        states = torch.empty_like(nodes[: forest.num_word_nodes])
        word = forest.word[: forest.num_word_nodes]
        return states.index_copy(0, word, nodes[: len(word)]), self._gradient(nodes[: len(word)])

    def peer(self) -> tuple[Tensor, Tensor]:
        states, _ = self.peer_module(
            self.x.flatten(0, 1),
            self.prepared["node_order"],
            self.prepared["adjacency_list"],
            self.prepared["edge_order"],
        )
        return states, self._gradient(states)

    def _gradient(self, states: Tensor) -> Tensor:
        self.x.grad = None
        states.backward(torch.ones_like(states))
        assert self.x.grad is not None
        return self.x.grad


def prepare(heads: list[int], peer: ModuleType) -> dict[str, Tensor]:
    """One tree in the peer's format: (head, dependent) pairs in order, nodes counted from 0."""
    arcs = sorted((head - 1, word) for word, head in enumerate(heads) if head > 0)
    node_order, edge_order = peer.calculate_evaluation_orders(arcs, len(heads))
    return {
        "features": torch.zeros(len(heads), 1),
        "adjacency_list": torch.tensor(arcs),
        "node_order": torch.from_numpy(node_order),
        "edge_order": torch.from_numpy(edge_order),
    }
