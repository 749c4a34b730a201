"""The k best structures, against the sorted list of all."""

import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.base import NativeStructure
from sparsewood.testing import draw_scores

# Structure, what `enumerate` takes, the shape of the scores.
FAMILIES: dict[str, tuple[NativeStructure, tuple[int, ...], tuple[int, ...]]] = {
    "trees": (sp.DependencyTrees(), (4,), (4, 5)),
    "single root": (sp.DependencyTrees(single_root=True), (4,), (4, 5)),
    "projective": (sp.DependencyTrees(projective=True), (4,), (4, 5)),
    "projective, single root": (
        sp.DependencyTrees(projective=True, single_root=True),
        (4,),
        (4, 5),
    ),
    "labelled": (sp.LabelledDependencyTrees(), (3, 2), (3, 4, 2)),
    "chain": (sp.LinearChain(), (4, 3), (4, 3, 4)),
    "chain, both": (sp.LinearChain(penalty="both"), (4, 3), (4, 3, 4)),
    "matching": (sp.Matching(), (4, 4), (4, 4)),
    "more columns": (sp.Matching(), (3, 4), (3, 4)),
    "more rows": (sp.Matching(), (4, 3), (4, 3)),
    "partial": (sp.Matching(partial=True), (3, 3), (3, 3)),
    "partial, more columns": (sp.Matching(partial=True), (2, 4), (2, 4)),
    "warping": (sp.Alignment(), (3, 4), (3, 4)),
    "gaps": (sp.Alignment(gaps=True), (4, 2), (4, 2)),
    "segments": (sp.SemiMarkov(2), (4, 2), (4, 2, 4)),
    "subset": (sp.Subset(2), (6,), (6,)),
    "at most": (sp.Subset(at_most=3), (6,), (6,)),
    "binary": (sp.BinaryTrees(), (5,), (5, 5)),
    "labelled binary": (sp.BinaryTrees(labelled=True), (3, 2), (3, 3, 2)),
}
family = pytest.mark.parametrize("name", FAMILIES)


def ranked(structure: sp.Structure, scores: Tensor, everything: Tensor) -> Tensor:
    """The scores of all structures of each instance, best first: (B, count)."""
    parts = structure.indicator(everything, tuple(scores.shape[1:])).bool()
    totals = torch.where(parts, scores[:, None], 0).flatten(2).sum(-1)
    return totals.sort(-1, descending=True).values


@family
@settings(deadline=None, max_examples=10)
@given(
    kind=st.sampled_from(["normal", "integers", "equal", "large", "forbidden"]),
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(1, 12),
)
def test_best_first(name: str, kind: str, seed: int, k: int) -> None:
    structure, size, shape = FAMILIES[name]
    everything = structure.enumerate(*size)
    scores = draw_scores(kind, 3, shape, seed)
    expected = ranked(structure, scores, everything)[:, :k]
    scores = scores[expected[:, 0] > -torch.inf]
    expected = expected[expected[:, 0] > -torch.inf]
    if len(scores) == 0:
        return
    found = sp.kbest(scores, structure, k)
    shown = min(k, len(everything))
    torch.testing.assert_close(found.scores[:, :shown], expected, rtol=1e-12, atol=1e-9)
    assert (found.scores[:, shown:] == -torch.inf).all()
    for structures, values in zip(found.structures, found.scores, strict=True):
        there = structures[values > -torch.inf]
        assert len(there.unique(dim=0)) == len(there)


@family
def test_all_of_them(name: str) -> None:
    structure, size, shape = FAMILIES[name]
    everything = structure.enumerate(*size)
    scores = draw_scores("normal", 1, shape, seed=0)
    found = sp.kbest(scores, structure, len(everything) + 2)
    assert torch.equal(found.structures[0, :-2].unique(dim=0), everything.unique(dim=0))
    assert (found.scores[0, -2:] == -torch.inf).all()
    assert torch.equal(found.structures[0, -1], found.structures[0, -3])


def test_the_first_is_map_and_padding_is_kept() -> None:
    scores = draw_scores("normal", 3, (9, 10), seed=1)
    lengths = torch.tensor([9, 4, 1])
    trees = sp.DependencyTrees(projective=True)
    found = sp.kbest(scores, trees, 5, lengths=lengths)
    best = sp.map(scores, trees, lengths=lengths)
    assert torch.equal(found.structures[:, 0], best.structures)
    torch.testing.assert_close(found.scores[:, 0], best.scores)
    for tree in found.structures.unbind(1):
        assert trees.contains(tree, (9, 10), lengths).all()
    assert found.scores[2].tolist()[1:] == [-torch.inf] * 4


def test_longer_sentences_fall_in_order() -> None:
    scores = draw_scores("normal", 2, (25, 26), seed=2)
    found = sp.kbest(scores, sp.DependencyTrees(), 40)
    assert (found.scores.diff(dim=-1) <= 1e-12).all()
    for structures in found.structures:
        assert len(structures.unique(dim=0)) == 40


def test_a_large_k_takes_room_for_what_there_is() -> None:
    scores = draw_scores("normal", 2, (2, 2), seed=0)
    found = sp.kbest(scores, sp.Matching(), 3_000_000)  # parts of so many would fill 192 MB
    few = sp.kbest(scores, sp.Matching(), 3)
    assert torch.equal(found.structures[:, :3], few.structures)
    assert torch.equal(found.scores[:, :3], few.scores)
    assert (found.scores[:, 2:] == -torch.inf).all()


def test_totals_in_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = draw_scores("normal", 3, (4, 4), seed=0)
    lengths = torch.tensor([[4, 4], [2, 2], [3, 4]])
    whole = sp.kbest(scores, sp.Matching(), 24, lengths=lengths)
    module = sys.modules["sparsewood.inference.kbest"]  # the name leads to the function
    monkeypatch.setattr(module, "_PARTS", 100)
    again = sp.kbest(scores, sp.Matching(), 24, lengths=lengths)
    assert torch.equal(again.structures, whole.structures)
    assert torch.equal(again.scores, whole.scores)


def test_totals_that_half_precision_cannot_hold() -> None:
    scores = torch.full((1, 40, 41), -2000.0, dtype=torch.float16)
    found = sp.kbest(scores, sp.DependencyTrees(), 2)
    assert found.scores.tolist() == [[-torch.inf, -torch.inf]]
    assert not torch.equal(*found.structures[0])


def test_no_instances() -> None:
    found = sp.kbest(torch.zeros(0, 3, 4), sp.DependencyTrees(), 2)
    assert found.structures.shape == (0, 2, 3)
    assert found.scores.shape == (0, 2)


def test_what_cannot_be_asked() -> None:
    scores = torch.zeros(2, 3, 4)
    with pytest.raises(ValueError, match=r"kbest: k = 1000000000 .* of shape \(3,\) .* of 2 inst"):
        sp.kbest(scores, sp.DependencyTrees(), 10**9)
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        sp.kbest(scores, sp.DependencyTrees(), 0)
    with pytest.raises(ValueError, match="no k-best algorithm is known for BranchingTrees"):
        sp.kbest(scores, sp.BranchingTrees("flat"), 2)
    scores[1] = -torch.inf
    with pytest.raises(ValueError, match="instance 1 has no structure left"):
        sp.kbest(scores, sp.DependencyTrees(), 2)
