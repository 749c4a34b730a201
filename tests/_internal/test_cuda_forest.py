"""The forest built by kernels against that of the host."""

from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood._internal import cuda, cuda_forest
from sparsewood.forest import _build_on_host, _build_op
from tests.emulator import ORDERS, EmulatedKernels
from tests.forests import BAD_TREES, read_node

Trees = tuple[Tensor, Tensor, Tensor]


def _forest(tensors: list[Tensor] | None, trees: Trees) -> sp.Forest:
    assert tensors is not None
    return sp.Forest(*tensors[:8], shape=(len(trees[1]), trees[0].shape[1])).to("cpu")


def _build(trees: Trees, device: torch.device, apart: bool = False) -> list[Tensor] | None:
    heads, lengths, instance = (tensor.to(device) for tensor in trees)
    return cuda_forest.build(heads, lengths, instance, apart)


def _shuffled(trees: Trees) -> Trees:
    """The same trees in another order."""
    heads, lengths, instance = trees
    order = torch.randperm(len(heads), generator=torch.Generator().manual_seed(0))
    return heads[order], lengths, instance[order]


def _check_same(ours: sp.Forest, theirs: sp.Forest) -> None:
    assert torch.equal(ours.words, theirs.words)
    assert ours.levels == theirs.levels
    assert ours.num_tree_nodes == theirs.num_tree_nodes
    found, expected = (
        [(row, read_node(forest, j)) for j, row in enumerate(forest.row.tolist())]
        for forest in (ours, theirs)
    )
    assert [found[root] for root in ours.roots] == [expected[root] for root in theirs.roots]
    for level in theirs.levels:
        here = slice(level.begin, level.end)
        assert sorted(found[here]) == sorted(expected[here])
    counts = ours.child_offsets.diff()
    assert torch.equal(ours.parents, torch.arange(ours.num_nodes).repeat_interleave(counts))


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("lengths", [[1], [3, 1, 5], [40, 33, 7]])
@pytest.mark.parametrize("kind", ["chain", "star", "random", "duplicates"])
def test_it_is_that_of_the_host(
    draw_trees: Any, device: torch.device, kind: str, lengths: list[int], apart: bool
) -> None:
    trees = _shuffled(draw_trees(kind, lengths, 4, 0))
    built, expected = _build(trees, device, apart), _build_on_host(*trees, apart)
    assert built is not None
    assert {tensor.device.type for tensor in (*built[:6], built[8])} == {device.type}
    ours = _forest(built, trees)
    _check_same(ours, _forest(expected, trees))
    if not apart:
        assert built[8].numel() == 0
        return
    n, place = trees[0].shape[1], built[8].cpu()
    assert torch.equal(ours.word[ours.children], trees[2][place // n] * n + place % n)
    assert place.unique().numel() == len(ours.children)


def test_of_many_trees(device: torch.device) -> None:
    heads = torch.tensor([tree.tolist() for tree in sp.DependencyTrees().enumerate(4)])
    trees = heads, torch.tensor([3, 4, 2]), torch.ones(len(heads), dtype=torch.int64)
    _check_same(
        _forest(_build(trees, device), trees), _forest(_build_on_host(*trees, False), trees)
    )


def test_sentences_too_long_for_shared_memory(
    draw_trees: Any, device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_forest, "_SHARED", 0)
    trees: Trees = draw_trees("random", [9, 50], 3, 0)
    _check_same(
        _forest(_build(trees, device), trees), _forest(_build_on_host(*trees, False), trees)
    )


def test_it_does_not_depend_on_which_thread_is_first(draw_trees: Any) -> None:
    trees: Trees = draw_trees("random", [40, 9, 20], 5, 0)
    built: list[list[Tensor]] = []
    for order in ORDERS:
        with cuda.emulate(lambda program, order=order: EmulatedKernels(program, order)):
            forest = sp.Forest.from_heads(*trees)
            tensors = (forest.row, forest.child_offsets, forest.children, forest.roots)
            built.append([*tensors, *forest.transposed])
    for other in built[1:]:
        assert all(torch.equal(a, b) for a, b in zip(built[0], other, strict=True))


@pytest.mark.parametrize("bits", [0, 3, 63])
def test_hashes_that_collide_leave_it_to_the_host(
    draw_trees: Any, device: torch.device, monkeypatch: pytest.MonkeyPatch, bits: int
) -> None:
    monkeypatch.setattr(cuda_forest, "_HASH", bits)
    trees: Trees = draw_trees("random", [9, 8], 5, 0)
    assert _build(trees, device) is None
    forest = sp.Forest.from_heads(*(tensor.to(device) for tensor in trees))
    assert forest.row.device.type == device.type
    _check_same(forest.to("cpu"), _forest(_build_on_host(*trees, False), trees))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("heads", "lengths", "instance", "message"), BAD_TREES)
def test_bad_trees_are_named(
    device: torch.device,
    heads: list[Any],
    lengths: list[Any],
    instance: list[int],
    message: str,
    weighted: bool,
) -> None:
    tensors = [torch.tensor(values, device=device) for values in (heads, lengths, instance)]
    weights = torch.ones(tensors[0].shape, device=device) if weighted else None
    with pytest.raises(ValueError, match=message):
        sp.Forest.from_heads(*tensors, weights=weights)


@pytest.mark.parametrize("sentences", [0, 2])
def test_no_trees(device: torch.device, sentences: int) -> None:
    heads, none = torch.empty(0, 3, dtype=torch.int64), torch.empty(0, dtype=torch.int64)
    forest = sp.Forest.from_heads(
        heads.to(device), torch.full((sentences,), 3, device=device), none.to(device)
    )
    assert forest.row.device.type == device.type
    assert (forest.num_nodes, len(forest.words)) == (0, 3 * sentences)


def test_the_edges_above_a_node_and_the_nodes_of_a_row(
    draw_trees: Any, device: torch.device
) -> None:
    trees: Trees = draw_trees("random", [7, 20, 1], 6, 0)
    forest = sp.Forest.from_heads(*(tensor.to(device) for tensor in trees))
    offsets, edges, row_offsets, nodes = (tensor.cpu() for tensor in forest.transposed)
    forest = forest.to("cpu")
    for keys, order, bounds, buckets in (
        (forest.children, edges, offsets, forest.num_nodes),
        (forest.row[: forest.num_word_nodes], nodes, row_offsets, len(forest.words)),
    ):
        assert torch.equal(order, keys.argsort(stable=True))
        assert torch.equal(bounds.diff(), keys.bincount(minlength=buckets))


def test_opcheck(draw_trees: Any, device: torch.device) -> None:
    trees = [tensor.to(device) for tensor in draw_trees("random", [4, 3], 3, 0)]
    for apart in (False, True):
        checks = ("test_schema", "test_faketensor")
        torch.library.opcheck(_build_op, (*trees, apart), test_utils=checks)
