"""Binary trees: counts, membership, CKY, and the whole conformance kit."""

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import MarginalsConformance, StructureConformance, draw_scores
from tests.fuzz.family import Family

FUZZED = [
    Family("binary", sp.BinaryTrees(), ((1,), (2,), (3,), (4,), (5,)), lambda n: (n, n), 0),
    Family(
        "binary-labelled",
        sp.BinaryTrees(True),
        ((1, 2), (2, 2), (3, 1), (3, 2)),
        lambda n, labels: (n, n, labels),
    ),
]

FAMILIES = [sp.BinaryTrees(), sp.BinaryTrees(labelled=True)]
family = pytest.mark.parametrize("trees", FAMILIES, ids=str)


def shape(trees: sp.BinaryTrees, n: int) -> tuple[int, ...]:
    return (n, n, 3) if trees.labelled else (n, n)


@pytest.mark.full
class TestUnlabelled(StructureConformance, MarginalsConformance):
    structure = sp.BinaryTrees()
    has_lengths = True
    sizes = (1, 5)
    shape = staticmethod(lambda n: (n, n))


class TestLabelled(StructureConformance, MarginalsConformance):
    structure = sp.BinaryTrees(labelled=True)
    has_lengths = True
    sizes = (1, 3)
    shape = staticmethod(lambda n: (n, n, 2))

    @staticmethod
    def size(n: int) -> tuple[int, ...]:
        return (n, 2)


def test_counts_are_catalan_numbers_times_labellings() -> None:
    plain, labelled = FAMILIES
    assert [plain.count(n) for n in range(1, 8)] == [1, 1, 2, 5, 14, 42, 132]
    assert plain.count(20) == 1767263190
    assert [labelled.count(n, 3) for n in (1, 2, 3)] == [3, 27, 2 * 3**5]
    assert len(plain.enumerate(8)) == plain.count(8) == 429
    assert len(labelled.enumerate(4, 3)) == labelled.count(4, 3) == 5 * 3**7


def test_sizes_that_cannot_be_counted_or_listed() -> None:
    plain, labelled = FAMILIES
    with pytest.raises(ValueError, match="n = 0"):
        plain.count(0)
    with pytest.raises(ValueError, match="trees without labels, got 2"):
        plain.count(3, 2)
    for labels in (None, 0):
        with pytest.raises(ValueError, match=f"at least 1 label, got {labels}"):
            labelled.count(3, labels)
    with pytest.raises(ValueError, match="1767263190 over 20 words"):
        plain.enumerate(20)


def best_score(scores: Tensor) -> float:
    """The best score of a binary tree, by plain recursion over (n, n, L) span scores."""
    best = scores.amax(-1).tolist()

    @cache
    def inside(i: int, j: int) -> float:
        splits = (inside(i, k) + inside(k + 1, j) for k in range(i, j))
        return best[i][j] + (max(splits) if i < j else 0.0)

    return inside(0, len(best) - 1)


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(1, 25),
    labels=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["normal", "integers", "forbidden"]),
)
def test_argmax_agrees_with_plain_recursion(n: int, labels: int, seed: int, kind: str) -> None:
    scores = draw_scores(kind, 1, (n, n, labels), seed)
    expected = best_score(scores[0])
    trees = sp.BinaryTrees(labelled=True)
    if expected == -torch.inf:
        with pytest.raises(ValueError, match="instance 0"):
            trees.argmax(scores)
        return
    best = trees.argmax(scores)
    assert trees.contains(best, (n, n, labels)).all()
    used = trees.indicator(best, (n, n, labels)).bool()
    assert scores[used].sum().item() == pytest.approx(expected, abs=1e-9)
    if labels == 1:
        assert torch.equal(sp.BinaryTrees().argmax(scores[..., 0]), best + 1)


@family
def test_argmax_takes_any_dtype_and_pads(trees: sp.BinaryTrees) -> None:
    scores = draw_scores("normal", 3, shape(trees, 6), seed=1).half()
    lengths = torch.tensor([6, 3, 1], dtype=torch.int32)
    expected = trees.argmax(scores.double(), lengths)
    for dtype in (torch.float16, torch.float32):
        assert torch.equal(trees.argmax(scores.to(dtype), lengths), expected)
    assert trees.contains(expected, shape(trees, 6), lengths).all()
    nothing = -1 if trees.labelled else 0
    assert (expected[1, 3:] == nothing).all()
    assert (expected[1, :, 3:] == nothing).all()


@family
def test_equal_scores_are_always_decided_the_same_way(trees: sp.BinaryTrees) -> None:
    scores = torch.zeros(1, *shape(trees, 4))
    one = 0 if trees.labelled else 1  # the first label
    (tree,) = trees.argmax(scores)
    assert (tree == one).nonzero().tolist() == [
        [0, 0],
        [0, 3],
        [1, 1],
        [1, 3],
        [2, 2],
        [2, 3],
        [3, 3],
    ]


@family
def test_what_is_forbidden_is_not_used(trees: sp.BinaryTrees) -> None:
    scores = torch.ones(2, *shape(trees, 3))
    scores[1, 0, 1] = -torch.inf
    best = trees.argmax(scores)
    assert trees.decode(trees.indicator(best, shape(trees, 3))).equal(best)
    assert best[1, 1, 2] >= 0
    scores[1, 1, 2] = -torch.inf
    with pytest.raises(ValueError, match="instance 1 has no structure left"):
        trees.argmax(scores)


def test_contains() -> None:
    trees = sp.BinaryTrees()
    good = torch.eye(4, dtype=torch.int64)
    good[0, 3] = good[0, 1] = good[2, 3] = 1
    crossing, flat, many, below, value = good.repeat(5, 1, 1).unbind()
    crossing[2, 3], crossing[1, 2] = 0, 1
    flat[0, 1] = 0
    many[1, 3] = 1
    below[0, 1], below[1, 0] = 0, 1
    value[0, 0] = 2
    tables = torch.stack([good, crossing, flat, many, below, value])
    assert trees.contains(tables, (4, 4)).tolist() == [True] + [False] * 5
    labelled = sp.BinaryTrees(labelled=True)
    assert labelled.contains(tables - 1, (4, 4, 2)).tolist() == [True] + [False] * 4 + [True]
    assert labelled.contains(good[None] - 2, (4, 4, 2)).tolist() == [False]
    assert labelled.contains(good[None] - 1, (4, 4, 0)).tolist() == [False]  # no such label


def test_contains_of_padded_trees() -> None:
    trees = sp.BinaryTrees()
    table = torch.zeros(4, 3, 3, dtype=torch.int64)
    table[:, 0, 0] = table[:, 1, 1] = table[:, 0, 1] = 1
    table[1, 2, 2] = 1
    table[2, 0, 1] = 0
    legal = trees.contains(table, (3, 3), torch.tensor([2, 2, 2, 3]))
    assert legal.tolist() == [True, False, False, False]


def test_labels_that_do_not_fit() -> None:
    trees = sp.BinaryTrees(labelled=True)
    trees.validate(torch.zeros(1, 1, 1, 32_766))
    with pytest.raises(ValueError, match="at most 32766 labels"):
        trees.validate(torch.zeros(1, 1, 1, 32_767))
    with pytest.raises(ValueError, match="pass `shape`"):
        trees.indicator(trees.enumerate(2, 2))
