"""The forest against hash-consing in plain Python, its counts, and what it rejects."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import draw_scores
from tests.forests import BAD_TREES, read_node

KINDS = st.sampled_from(["chain", "star", "random", "duplicates"])
LENGTHS = st.lists(st.integers(1, 7), min_size=1, max_size=4)


def _subtree(heads: list[int], word: int) -> tuple[Any, ...]:
    """(word, its subtrees): 0 is the root."""
    below = (_subtree(heads, i + 1) for i, head in enumerate(heads) if head == word)
    return word, tuple(below)


def _subtrees(tree: tuple[Any, ...]) -> set[tuple[Any, ...]]:
    return {tree}.union(*map(_subtrees, tree[1]))


@given(KINDS, LENGTHS, st.integers(1, 5), st.integers(0, 10**6))
def test_it_holds_each_distinct_subtree_once(
    draw_trees: Any, kind: str, lengths: list[int], trees: int, seed: int
) -> None:
    heads, sizes, instance = draw_trees(kind, lengths, trees, seed)
    forest = sp.Forest.from_heads(heads, sizes, instance)
    whole = [
        (int(b), _subtree(row[: lengths[b]].tolist(), 0))
        for row, b in zip(heads, instance, strict=True)
    ]
    assert [read_node(forest, int(root)) for root in forest.roots] == [tree for _, tree in whole]
    distinct = {(b, subtree) for b, tree in whole for subtree in _subtrees(tree)}
    assert forest.num_nodes == len(distinct)
    assert forest.num_tree_nodes == sum(trees * (length + 1) for length in lengths)
    assert forest.sharing == forest.num_tree_nodes / forest.num_nodes


@given(KINDS, LENGTHS, st.integers(1, 5), st.integers(0, 10**6))
def test_weights_of_nodes_are_those_of_the_trees_they_are_in(
    draw_trees: Any, kind: str, lengths: list[int], trees: int, seed: int
) -> None:
    heads, sizes, instance = draw_trees(kind, lengths, trees, seed)
    forest = sp.Forest.from_heads(heads, sizes, instance)
    weights = torch.rand(len(heads), dtype=torch.float64, requires_grad=True)
    found = forest.node_weights(weights)
    words, n = forest.word.tolist(), forest.shape[1]
    for node in range(forest.num_nodes):
        subtree = read_node(forest, node)
        holding = [
            t
            for t, row in enumerate(heads.tolist())
            if (words[node] < 0 or words[node] // n == instance[t])
            and subtree in _subtrees(_subtree(row[: lengths[instance[t]]], 0))
            and (words[node] >= 0 or forest.roots[t] == node)
        ]
        torch.testing.assert_close(found[node], weights[holding].sum())
    coefficients = torch.randn(forest.num_nodes, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(coefficients @ found, weights)
    one_by_one = [
        float(coefficients @ forest.node_weights(unit)) for unit in torch.eye(len(weights)).double()
    ]
    torch.testing.assert_close(gradient, torch.tensor(one_by_one).double())


def test_weights_that_are_not_one_for_each_tree_are_refused() -> None:
    forest = sp.Forest.from_heads(torch.tensor([[0, 1]]), torch.tensor([2]), torch.tensor([0]))
    with pytest.raises(ValueError, match=r"weights: expected \(1,\), one per tree, got \(2,"):
        forest.node_weights(torch.ones(2))


@given(KINDS, LENGTHS, st.integers(1, 5), st.integers(0, 10**6))
def test_nodes_are_numbered_level_by_level(
    draw_trees: Any, kind: str, lengths: list[int], trees: int, seed: int
) -> None:
    forest = sp.Forest.from_heads(*draw_trees(kind, lengths, trees, seed))
    level = torch.empty(forest.num_nodes, dtype=torch.int64)
    for height, nodes in enumerate(forest.levels):
        level[nodes.begin : nodes.end] = height
        parents = forest.parents[nodes.first_edge : nodes.last_edge]
        assert ((parents >= nodes.begin) & (parents < nodes.end)).all()
    heights = torch.zeros(forest.num_nodes, dtype=torch.int64)
    for child, parent in zip(forest.children.tolist(), forest.parents.tolist(), strict=True):
        heights[parent] = max(int(heights[parent]), int(heights[child]) + 1)
    words = forest.word >= 0
    assert torch.equal(level[words], heights[words])
    assert (level[~words] == len(forest.levels) - 1).all()
    assert forest.num_word_nodes == int(words.sum())
    counts = forest.child_offsets.diff()
    assert torch.equal(forest.parents, torch.arange(forest.num_nodes).repeat_interleave(counts))


def test_a_small_forest() -> None:
    heads = torch.tensor([[0, 1, 1], [0, 1, 2], [0, 1, 1], [2, 0, -1]])
    forest = sp.Forest.from_heads(heads, torch.tensor([3, 2]), torch.tensor([0, 0, 0, 1]))
    assert forest.words.tolist() == [0, 1, 2, 3, 4]
    assert forest.word.tolist() == [1, 2, 3, 0, 1, 4, 0, -1, -1, -1]
    assert forest.children.tolist() == [0, 1, 1, 2, 4, 3, 6, 5]
    assert forest.child_offsets.tolist() == [0, 0, 0, 0, 2, 3, 4, 5, 6, 7, 8]
    assert forest.roots.tolist() == [7, 8, 7, 9]
    assert forest.level_offsets == (0, 3, 6, 7, 10)
    assert forest.edge_offsets == (0, 0, 4, 5, 8)
    assert repr(forest) == ("Forest(4 trees over 2 sentences, 10 nodes in 4 levels, sharing 1.50)")
    one = sp.Forest.from_heads(torch.tensor([[0]]), torch.tensor([1]), torch.tensor([0]))
    assert repr(one).startswith("Forest(1 tree over 1 sentence, ")


def test_sentences_share_nothing() -> None:
    heads = torch.tensor([[0, 1], [0, 1]])
    both = sp.Forest.from_heads(heads, torch.tensor([2, 2]), torch.tensor([0, 1]))
    one = sp.Forest.from_heads(heads, torch.tensor([2]), torch.tensor([0, 0]))
    assert (both.num_nodes, one.num_nodes) == (6, 3)


def test_many_trees_grow_the_table() -> None:
    trees = torch.tensor([tree.tolist() for tree in sp.DependencyTrees().enumerate(6)])
    forest = sp.Forest.from_heads(
        trees, torch.tensor([6]), torch.zeros(len(trees), dtype=torch.int64)
    )
    assert len(trees) == 7**5  # Cayley
    assert forest.roots.unique().numel() == len(trees)


def test_no_trees() -> None:
    forest = sp.Forest.from_heads(
        torch.empty(0, 3, dtype=torch.int64), torch.tensor([3, 2]), torch.tensor([]).long()
    )
    assert (forest.num_nodes, forest.num_tree_nodes, forest.sharing) == (0, 0, 1.0)
    assert (forest.levels, forest.num_word_nodes) == ((), 0)


def test_of_a_posterior() -> None:
    scores, lengths = draw_scores("normal", 3, (6, 7), seed=0), torch.tensor([6, 4, 1])
    post = sp.sparsemap(scores, sp.DependencyTrees(), lengths=lengths)
    forest = post.forest()
    assert len(forest.roots) == len(post.structures)
    assert forest.sharing > 1
    whole = sp.sparsemap(scores, sp.DependencyTrees()).forest()
    assert len(whole.words) == 18


@given(KINDS, LENGTHS, st.integers(1, 5), st.integers(0, 10**6))
def test_with_weights_trees_share_nothing(
    draw_trees: Any, kind: str, lengths: list[int], trees: int, seed: int
) -> None:
    heads, sizes, instance = draw_trees(kind, lengths, trees, seed)
    order = torch.randperm(len(heads), generator=torch.Generator().manual_seed(seed))
    heads, instance = heads[order], instance[order]
    n = heads.shape[1]
    weights = torch.arange(heads.numel(), dtype=torch.float64).view_as(heads)
    forest = sp.Forest.from_heads(heads, sizes, instance, weights=weights)
    plain = sp.Forest.from_heads(heads, sizes, instance)
    assert torch.equal(forest.words, plain.words)
    assert (forest.shape, forest.sharing) == (plain.shape, 1.0)
    whole = [_subtree(row[row >= 0].tolist(), 0) for row in heads]
    assert [read_node(forest, int(root)) for root in forest.roots] == whole
    # an edge hangs word `place % n` of tree `place // n`
    assert forest.weights is not None
    place = forest.weights.long()
    assert sorted(place.tolist()) == (heads.flatten() >= 0).nonzero().squeeze(1).tolist()
    assert torch.equal(forest.word[forest.children], instance[place // n] * n + place % n)
    above = forest.word[forest.parents]
    assert torch.equal(torch.where(above < 0, 0, above % n + 1), heads.flatten()[place])


def test_parts_that_carry_a_gradient_are_the_weights() -> None:
    scores, lengths = draw_scores("normal", 3, (6, 7), seed=0), torch.tensor([6, 4, 1])
    post = sp.sparsemap(scores, sp.DependencyTrees(), lengths=lengths)
    parts = post.parts.clone().requires_grad_()
    forest = post.with_parts(parts).forest()
    assert forest.weights is not None
    assert (forest.weights == 1).all()
    assert forest.shape == (3, 6)
    assert len(forest.weights) == int(lengths[post.instance].sum())
    (gradient,) = torch.autograd.grad(forest.weights.sum(), parts)
    assert torch.equal(gradient, post.parts)


def test_to_another_device() -> None:
    forest = sp.Forest.from_heads(torch.tensor([[0, 1]]), torch.tensor([2]), torch.tensor([0]))
    assert forest.to("cpu") is forest
    moved = forest.to("meta")
    assert moved.children.is_meta
    assert moved.child_offsets.shape == forest.child_offsets.shape
    assert moved.levels == forest.levels
    weights = torch.ones(1, 2)
    weighted = sp.Forest.from_heads(
        torch.tensor([[0, 1]]), torch.tensor([2]), torch.tensor([0]), weights=weights
    ).to("meta")
    assert weighted.weights is not None
    assert weighted.weights.is_meta


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("heads", "lengths", "instance", "message"), BAD_TREES)
def test_bad_trees_are_named(
    heads: list[Any], lengths: list[Any], instance: list[int], message: str, weighted: bool
) -> None:
    tensors: list[Tensor] = [torch.tensor(values) for values in (heads, lengths, instance)]
    weights = torch.ones(tensors[0].shape) if weighted else None
    with pytest.raises(ValueError, match=message):
        sp.Forest.from_heads(*tensors, weights=weights)


@pytest.mark.parametrize(
    ("weights", "instance", "message"),
    [
        (torch.ones(1, 3), [0], r"the shape of heads, \(1, 2\).*\(1, 3\)"),
        (torch.ones(1, 2).long(), [0], "weights: expected floating.*got torch.int64"),
        (torch.ones(1, 2), [1], "tree 0: instance 1 is none of the 1 sentences"),
    ],
)
def test_bad_weights_are_named(weights: Tensor, instance: list[int], message: str) -> None:
    heads, lengths = torch.tensor([[0, 1]]), torch.tensor([2])
    with pytest.raises(ValueError, match=message):
        sp.Forest.from_heads(heads, lengths, torch.tensor(instance), weights=weights)
