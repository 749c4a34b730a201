"""Labelled dependency trees: their labels, their arcs, and the whole conformance kit."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsewood as sp
from sparsewood.testing import MarginalsConformance, StructureConformance, draw_scores
from tests.fuzz.family import Family

FUZZED = [
    Family(
        f"labelled{'-projective' * p}{'-single' * s}",
        sp.LabelledDependencyTrees(p, s),
        ((1, 1), (1, 3), (2, 2), (3, 1), (3, 2)),
        lambda n, labels: (n, n + 1, labels),
    )
    for p in (False, True)
    for s in (False, True)
] + [
    Family(
        "labelled-root-2",
        sp.LabelledDependencyTrees(root=2),
        ((2, 2), (3, 1), (3, 2)),
        lambda n, labels: (n, n + 1, labels),
    )
]

FAMILIES = [
    sp.LabelledDependencyTrees(projective=projective, single_root=single_root)
    for projective in (False, True)
    for single_root in (False, True)
]
family = pytest.mark.parametrize("trees", FAMILIES, ids=str)


class LabelledSizes:
    has_lengths = True
    sizes = (1, 3)
    shape = staticmethod(lambda n: (n, n + 1, 2))

    @staticmethod
    def size(n: int) -> tuple[int, ...]:
        return (n, 2)


class LabelledConformance(LabelledSizes, StructureConformance, MarginalsConformance):
    pass


# Two kinds of trees run the kit; the other two differ from them only in their arcs, which
# `test_argmax_is_that_of_the_best_labels` and the kit of `DependencyTrees` check.
class TestNonProjective(LabelledConformance):
    structure = sp.LabelledDependencyTrees()


@pytest.mark.full
class TestProjectiveSingleRoot(LabelledConformance):
    structure = sp.LabelledDependencyTrees(projective=True, single_root=True)


@pytest.mark.full
class TestKnownRoot(LabelledConformance):
    structure = sp.LabelledDependencyTrees(projective=True, root=1)


class TestSumsOfSingleRoot(LabelledSizes, MarginalsConformance):
    structure = sp.LabelledDependencyTrees(single_root=True)


class TestSumsOfProjective(LabelledSizes, MarginalsConformance):
    structure = sp.LabelledDependencyTrees(projective=True)


@family
def test_counts(trees: sp.LabelledDependencyTrees) -> None:
    for n in (1, 2, 3):
        listed = trees.enumerate(n, 3)
        assert listed.shape == (trees.count(n, 3), n, 2)
        assert trees.count(n, 3) == trees.unlabelled.count(n) * 3**n
    assert trees.count(30, 1) == trees.unlabelled.count(30)
    with pytest.raises(ValueError, match="labels = 0"):
        trees.count(2, 0)
    with pytest.raises(ValueError, match="over 6 words with 9 labels"):
        trees.enumerate(6, 9)


@family
@settings(deadline=None, max_examples=15)
@given(
    n=st.integers(1, 30),
    labels=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["normal", "integers"]),
)
def test_argmax_is_that_of_the_best_labels(
    trees: sp.LabelledDependencyTrees, n: int, labels: int, seed: int, kind: str
) -> None:
    scores = draw_scores(kind, 2, (n, n + 1, labels), seed)
    lengths = torch.tensor([n, (n + 1) // 2])
    heads, labelling = trees.argmax(scores, lengths).unbind(-1)
    assert torch.equal(heads, trees.unlabelled.argmax(scores.amax(-1), lengths))
    inside = heads >= 0
    assert torch.equal(inside.sum(-1), lengths)
    assert (labelling[~inside] == -1).all()
    word = inside.nonzero()
    arcs = scores[word[:, 0], word[:, 1], heads[inside]]
    assert torch.equal(arcs.amax(-1), arcs.gather(1, labelling[inside][:, None])[:, 0])


@family
def test_forbidden_labels_and_arcs(trees: sp.LabelledDependencyTrees) -> None:
    scores = torch.zeros(2, 3, 4, 2, dtype=torch.float64)
    scores[..., 0] = -torch.inf
    assert (trees.argmax(scores)[..., 1] == 1).all()
    scores[1, 2] = -torch.inf
    with pytest.raises(ValueError, match="instance 1 has no structure left"):
        trees.argmax(scores)


def test_contains_and_decode_of_padded_trees() -> None:
    trees = sp.LabelledDependencyTrees()
    good = torch.tensor([[2, 1], [0, 0], [-1, -1]])
    no_label, extra, cycle = good.repeat(3, 1, 1).unbind()
    no_label[0, 1] = -1
    extra[2, 1] = 0
    cycle[1, 0] = 1
    structures = torch.stack([good, no_label, extra, cycle])
    legal = trees.contains(structures, (3, 4, 2), torch.full((4,), 2))
    assert legal.tolist() == [True, False, False, False]
    parts = trees.indicator(structures[:1], (3, 4, 2))
    assert parts.nonzero()[:, 1:].tolist() == [[0, 2, 1], [1, 0, 0]]
    assert trees.decode(parts).tolist() == [good.tolist()]


def test_heads_and_labels_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"\(1, 99, 100, 328\).* at most 32767, got 32800"):
        sp.LabelledDependencyTrees().validate(torch.zeros(()).expand(1, 99, 100, 328))
