"""Dependency trees: counts, membership, the oracle, and the whole conformance kit."""

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from ufal.chu_liu_edmonds import chu_liu_edmonds  # pyright: ignore[reportAttributeAccessIssue]

import sparsewood as sp
from sparsewood.testing import MarginalsConformance, StructureConformance, draw_scores
from tests.fuzz.family import Family
from tests.trees import family

FUZZED = (
    [
        Family(
            f"trees{'-projective' * p}{'-single' * s}",
            sp.DependencyTrees(p, s),
            ((1,), (2,), (3,), (4,)),
            lambda n: (n, n + 1),
        )
        for p in (False, True)
        for s in (False, True)
    ]
    + [
        Family(
            f"trees-children-{m}{'-single' * s}",
            sp.DependencyTrees(True, s, m),
            ((1,), (2,), (3,), (4,)),
            lambda n: (n, n + 1),
        )
        for m, s in ((1, False), (2, False), (1, True))
    ]
    + [
        Family(
            f"trees{'-projective' * p}{f'-children-{m}' if m else ''}-root-{root}",
            sp.DependencyTrees(p, max_children=m, root=root),
            tuple((n,) for n in range(root, 5)),
            lambda n: (n, n + 1),
        )
        for p, m, root in ((False, None, 1), (False, None, 2), (True, None, 1), (True, 2, 2))
    ]
)


class TreeConformance(StructureConformance, MarginalsConformance):
    has_lengths = True
    shape = staticmethod(lambda n: (n, n + 1))


class TestNonProjective(TreeConformance):
    structure = sp.DependencyTrees()


@pytest.mark.full
class TestNonProjectiveSingleRoot(TreeConformance):
    structure = sp.DependencyTrees(single_root=True)


class TestProjective(TreeConformance):
    structure = sp.DependencyTrees(projective=True)


class TestProjectiveSingleRoot(TreeConformance):
    structure = sp.DependencyTrees(projective=True, single_root=True)


class TestFewChildren(TreeConformance):
    structure = sp.DependencyTrees(projective=True, max_children=2)


@pytest.mark.full
class TestFewChildrenSingleRoot(TreeConformance):
    structure = sp.DependencyTrees(projective=True, single_root=True, max_children=1)


@pytest.mark.full
class TestKnownRoot(TreeConformance):
    structure = sp.DependencyTrees(root=1)


@pytest.mark.full
class TestProjectiveKnownRoot(TreeConformance):
    structure = sp.DependencyTrees(projective=True, single_root=True, root=2)
    sizes = (2, 4)


@pytest.mark.full
class TestFewChildrenKnownRoot(TreeConformance):
    structure = sp.DependencyTrees(projective=True, max_children=2, root=2)
    sizes = (2, 4)


def test_counts_of_larger_sentences() -> None:
    assert sp.DependencyTrees().count(10) == 11**9
    assert sp.DependencyTrees(single_root=True).count(10) == 10**9
    assert [sp.DependencyTrees(projective=True).count(n) for n in (1, 2, 3, 4)] == [1, 3, 12, 55]
    one = sp.DependencyTrees(projective=True, single_root=True)
    assert [one.count(n) for n in (1, 2, 3, 4)] == [1, 2, 7, 30]


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("most", [1, 2, 3, 9])
def test_counts_of_trees_with_few_children(single_root: bool, most: int) -> None:
    trees = sp.DependencyTrees(projective=True, single_root=single_root, max_children=most)
    for n in range(1, 6):
        assert len(trees.enumerate(n)) == trees.count(n)
    # With one child each, every word except the last has its child on either side.
    if most == 1:
        assert trees.count(30) == (2**29 if single_root else 3**29)
    unbounded = sp.DependencyTrees(projective=True, single_root=single_root)
    assert (trees.count(10) == unbounded.count(10)) is (most == 9)


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize(
    ("projective", "most"), [(False, None), (True, None), (True, 1), (True, 2)]
)
def test_a_known_root_parts_the_trees_of_a_single_one(
    projective: bool, most: int | None, single_root: bool
) -> None:
    single = sp.DependencyTrees(projective, True, most)
    for n in range(1, 6):
        known = [sp.DependencyTrees(projective, single_root, most, r) for r in range(1, n + 1)]
        listed = torch.cat([trees.enumerate(n) for trees in known])
        assert [len(trees.enumerate(n)) for trees in known] == [t.count(n) for t in known]
        assert torch.equal(listed.unique(dim=0), single.enumerate(n))
        assert len(listed) == single.count(n)


def test_known_roots_that_a_sentence_has_not() -> None:
    with pytest.raises(ValueError, match="root must be at least 1, got 0"):
        sp.DependencyTrees(root=0)
    trees = sp.DependencyTrees(root=3)
    with pytest.raises(ValueError, match=r"root = 3 exceeds the words of .*\(1, 2, 3\)"):
        sp.sparsemap(torch.zeros(1, 2, 3), trees)
    with pytest.raises(ValueError, match=r"root = 3: lengths\[1\] is 2"):
        sp.map(torch.zeros(2, 3, 4), trees, lengths=torch.tensor([3, 2]))
    with pytest.raises(ValueError, match="root = 3 exceeds the number of words, n = 2"):
        trees.count(2)


@pytest.mark.parametrize("projective", [False, True])
def test_a_known_root_is_the_same_as_forbidden_arcs(projective: bool) -> None:
    scores = draw_scores("normal", 4, (9, 10), seed=3)
    known = sp.DependencyTrees(projective, root=4)
    plain = sp.DependencyTrees(projective)
    allowed = known.reads(scores)
    forbidden = scores.masked_fill(~allowed, -torch.inf)
    unread = scores.masked_fill(~allowed, torch.nan).requires_grad_()
    assert torch.equal(known.argmax(unread), plain.argmax(forbidden))
    assert torch.equal(
        sp.kbest(unread, known, 5).structures, sp.kbest(forbidden, plain, 5).structures
    )
    sums = sp.marginals(unread, known)
    torch.testing.assert_close(sums.log_partition, sp.marginals(forbidden, plain).log_partition)
    assert (sums.sample(20, generator=torch.Generator().manual_seed(0))[..., 3] == 0).all()
    post = sp.sparsemap(unread, known)
    torch.testing.assert_close(post.marginals, sp.sparsemap(forbidden, plain).marginals)
    (post.marginals * scores).sum().backward()
    assert unread.grad is not None
    assert (unread.grad[~allowed] == 0).all()


@family
def test_sizes_that_cannot_be_counted_or_listed(trees: sp.DependencyTrees) -> None:
    with pytest.raises(ValueError, match="at least one word"):
        trees.count(0)
    for n in (0, 7):
        with pytest.raises(ValueError, match=f"n = {n}"):
            trees.enumerate(n)


@pytest.mark.parametrize(
    ("heads", "plain", "single", "projective"),
    [
        ([0, 1, 2], True, True, True),
        ([0, 0, 0], True, False, True),
        ([3, 0, 2], True, True, False),  # 3 -> 1 crosses 0 -> 2
        ([2, 1, 0], False, False, False),  # a cycle
        ([1, 0, 0], False, False, False),  # its own head
        ([0, 1, 4], False, False, False),  # out of range
        ([0, 1, -1], False, False, False),  # a word without a head
    ],
)
def test_contains(heads: list[int], plain: bool, single: bool, projective: bool) -> None:
    tree = torch.tensor([heads])
    assert sp.DependencyTrees().contains(tree, (3, 4)).item() is plain
    assert sp.DependencyTrees(single_root=True).contains(tree, (3, 4)).item() is single
    assert sp.DependencyTrees(projective=True).contains(tree, (3, 4)).item() is projective


def test_contains_of_padded_trees() -> None:
    trees = torch.tensor([[0, 1, -1], [0, 1, 0], [0, 3, -1], [-1, 1, -1]])
    legal = sp.DependencyTrees().contains(trees, (3, 4), torch.full((4,), 2))
    assert legal.tolist() == [True, False, False, False]


def test_indicator_and_reads_of_padded_trees() -> None:
    trees = sp.DependencyTrees()
    scores = torch.zeros(2, 3, 4)
    lengths = torch.tensor([2, 3])
    parts = trees.indicator(torch.tensor([[2, 0, -1], [0, 1, 2]]))
    assert parts.dtype == torch.float64
    assert parts[0].tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    reads = trees.reads(scores, lengths)
    assert reads[0].tolist() == [[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]]
    assert reads[1].tolist() == [[1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]
    assert (parts.bool() <= reads).all()


@family
def test_argmax_takes_any_dtype_and_pads(trees: sp.DependencyTrees) -> None:
    scores = draw_scores("normal", 3, (5, 6), seed=1).half()
    lengths = torch.tensor([5, 2, 1], dtype=torch.int32)
    expected = trees.argmax(scores.double(), lengths)
    for dtype in (torch.float16, torch.float32):
        assert torch.equal(trees.argmax(scores.to(dtype), lengths), expected)
    assert trees.contains(expected, (5, 6), lengths).all()
    assert expected[1, 2:].tolist() == [-1, -1, -1]
    strided = scores.double().transpose(0, 1).contiguous().transpose(0, 1)
    assert torch.equal(trees.argmax(strided, lengths), expected)


@settings(deadline=None, max_examples=50)
@given(n=st.integers(1, 40), seed=st.integers(0, 2**32 - 1), integers=st.booleans())
def test_argmax_agrees_with_another_implementation(n: int, seed: int, integers: bool) -> None:
    scores = draw_scores("integers" if integers else "normal", 1, (n, n + 1), seed)
    square = torch.zeros(n + 1, n + 1, dtype=torch.float64)
    square[1:] = scores[0]
    square.fill_diagonal_(0.0)
    _, best = chu_liu_edmonds(square.numpy())
    heads = sp.DependencyTrees().argmax(scores)[0]
    assert sp.DependencyTrees().contains(heads[None], (n, n + 1)).all()
    assert scores[0].gather(1, heads[:, None]).sum().item() == pytest.approx(best, abs=1e-9)


def best_bounded(scores: list[list[float]], most: int, single_root: bool) -> float:
    """The best score of a projective tree with few children, by recursion over whole subtrees."""

    @cache
    def subtree(head: int, first: int, last: int) -> float:
        """The words first..last as one subtree of the head."""
        return max(
            scores[top - 1][head]
            + hang(top, first, top - 1, c)
            + hang(top, top + 1, last, most - c)
            for top in range(first, last + 1)
            for c in range(most + 1)
        )

    @cache
    def hang(head: int, first: int, last: int, most: int) -> float:
        """The words first..last as at most `most` subtrees of the head."""
        if first > last:
            return 0.0
        splits = range(first, last + 1) if most > 0 else ()
        return max(
            (subtree(head, first, k) + hang(head, k + 1, last, most - 1) for k in splits),
            default=-torch.inf,
        )

    return hang(0, 1, len(scores), 1 if single_root else len(scores))


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(1, 10),
    most=st.integers(1, 4),
    single_root=st.booleans(),
    kind=st.sampled_from(["normal", "integers", "forbidden"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_argmax_of_trees_with_few_children(
    n: int, most: int, single_root: bool, kind: str, seed: int
) -> None:
    trees = sp.DependencyTrees(projective=True, single_root=single_root, max_children=most)
    scores = draw_scores(kind, 1, (n, n + 1), seed)
    best = best_bounded(scores[0].tolist(), most, single_root)
    if best == -torch.inf:
        with pytest.raises(ValueError, match="instance 0 has no structure left"):
            trees.argmax(scores)
        return
    heads = trees.argmax(scores)
    assert trees.contains(heads, (n, n + 1)).all()
    found = scores.gather(2, heads[..., None]).sum().item()
    assert found == pytest.approx(best, abs=1e-9)


def test_few_children_need_projective_trees() -> None:
    with pytest.raises(ValueError, match="NP-hard"):
        sp.DependencyTrees(max_children=3)
    with pytest.raises(ValueError, match="max_children must be at least 1, got 0"):
        sp.DependencyTrees(projective=True, max_children=0)


def test_contains_counts_the_children_of_words_alone() -> None:
    trees = sp.DependencyTrees(projective=True, max_children=2)
    heads = torch.tensor([[0, 0, 0, 0], [2, 0, 2, 2], [0, 1, 1, 0], [2, 0, 2, -1]])
    legal = trees.contains(heads, (4, 5), torch.tensor([4, 4, 4, 3]))
    assert legal.tolist() == [True, False, True, True]


@family
def test_forbidden_arcs_that_leave_no_tree(trees: sp.DependencyTrees) -> None:
    no_head, cycle = torch.zeros(2, 3, 4, dtype=torch.float64).unbind()
    no_head[1] = -torch.inf
    cycle[:, 0] = -torch.inf  # the root may have no child
    for bad in (no_head, cycle):
        scores = torch.stack([torch.zeros(3, 4, dtype=torch.float64), bad])
        with pytest.raises(ValueError, match=r"\b1\b"):
            trees.argmax(scores)
