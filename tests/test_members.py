"""Structures that a caller gives: what does not fit is refused, what is no member is found out."""

from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp

TREES = sp.DependencyTrees()
SCORES = torch.zeros(2, 3, 4, dtype=torch.float64)
GOLD = torch.tensor([[0, 1, 2], [2, 0, 2]])


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        (None, "expected a tensor, got NoneType"),
        (GOLD.tolist(), "expected a tensor, got list"),
        (GOLD.double(), "expected an integer dtype, got torch.float64"),
        (GOLD[:1], r"each of the 2 instances of scores \(2, 3, 4\), got shape \(1, 3\)"),
        (
            GOLD[:, :2],
            r"shape \(2, 2\) does not fit scores .*\(2, 3, 4\): expected \(2, 3\)",
        ),
        (GOLD[..., None], r"shape \(2, 3, 1\) does not fit"),
    ],
)
@pytest.mark.parametrize("structure", [TREES, sp.BranchingTrees("left_to_right")])
def test_what_does_not_fit(structure: sp.Structure, gold: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sp.crf_loss(SCORES, gold, structure)
    with pytest.raises(ValueError, match=message):
        sp.marginals(SCORES, structure).log_prob(gold)


@pytest.mark.parametrize("columns", [2, 3, 5])
def test_whether_a_row_must_be_matched_depends_on_the_columns(columns: int) -> None:
    scores, gold = torch.zeros(1, 3, columns), torch.tensor([[0, -1, 1]])
    if columns == 2:
        assert sp.perceptron_loss(scores, gold, sp.Matching()) == 0
        return
    with pytest.raises(ValueError, match=r"gold\[0\] is not one of Matching"):
        sp.perceptron_loss(scores, gold, sp.Matching())


# A state or label that the scores have no part for.
_BEYOND = {
    "chain": (sp.LinearChain(), (2, 2, 3), torch.tensor([[0, 1], [0, 2]])),
    "labels": (sp.LabelledDependencyTrees(), (1, 2, 2), torch.tensor([[[0, 1]], [[0, 2]]])),
    "segments": (sp.SemiMarkov(1), (1, 2, 3), torch.tensor([[[1, 1]], [[1, 2]]])),
    "spans": (sp.BinaryTrees(labelled=True), (1, 1, 2), torch.tensor([[[1]], [[2]]])),
    "items": (sp.Simplex(), (2,), torch.tensor([1, 2])),
}


@pytest.mark.parametrize("name", _BEYOND)
def test_what_has_no_score_is_no_member(name: str) -> None:
    structure, shape, structures = _BEYOND[name]
    scores = torch.zeros(2, *shape, dtype=torch.float64)
    log_prob = sp.marginals(scores, structure).log_prob(structures)
    assert log_prob[0].isfinite()
    assert log_prob[1] == -torch.inf
    with pytest.raises(ValueError, match=r"gold\[1\] is not one of"):
        sp.sparsemap_loss(scores, structures, structure)


def test_bits_are_integers() -> None:
    scores = torch.tensor([[1.0, 2.0, 0.5]])
    bits = torch.tensor([[True, True, False]])
    expected: Tensor = sp.crf_loss(scores, bits.long(), sp.Subset(2))
    assert torch.equal(sp.crf_loss(scores, bits, sp.Subset(2)), expected)


class Choice(sp.Structure):
    """One out of n, by three methods."""

    def argmax(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        return scores.argmax(-1)

    def indicator(self, structures: Tensor, parts: tuple[int, ...]) -> Tensor:
        return torch.nn.functional.one_hot(structures, parts[0]).double()

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        pass


def test_contains_of_a_wrong_shape_is_named() -> None:
    class Indices(Choice):
        def contains(self, structures: Tensor, lengths: Tensor | None = None) -> Tensor:
            return structures >= 0

    with pytest.raises(ValueError, match=r"contains of .* gives shape \(2, 1\)"):
        sp.perceptron_loss(torch.zeros(2, 3), torch.zeros(2, 1, dtype=torch.int64), Indices())


def test_three_methods_are_enough_for_losses() -> None:
    scores = torch.tensor([[1.0, 2.0, 0.5], [0.0, 0.0, 3.0]])
    gold = torch.tensor([0, 2])
    for loss in (sp.perceptron_loss, sp.hinge_loss, sp.sparsemap_loss):
        expected = loss(scores, gold, sp.Simplex(), reduction="none")
        torch.testing.assert_close(loss(scores, gold, Choice(), reduction="none"), expected)
    with pytest.raises(ValueError, match=r"do not fit scores .*: RuntimeError: Class values must"):
        sp.hinge_loss(scores, gold + 1, Choice())
    with pytest.raises(ValueError, match=r"do not fit scores .*: .* parts of shape \(1, 3\)"):
        sp.hinge_loss(scores, gold[:, None], Choice())
