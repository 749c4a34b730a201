"""The k best structures, in addition to the conformance kit."""

import sys

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import draw_scores
from tests.seats import Seats


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
    found = sp.kbest(scores, sp.Matching(), 3_000_000)  # their parts would take 192 MB
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
    with pytest.raises(ValueError, match="expected a family with a k-best algorithm, got Seats"):
        sp.kbest(scores[:, 0], Seats(), 2)
    scores[1] = -torch.inf
    with pytest.raises(ValueError, match="instance 1 has no structure left"):
        sp.kbest(scores, sp.DependencyTrees(), 2)
