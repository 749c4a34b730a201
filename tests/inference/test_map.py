"""MAP inference: the best structure and its score, for every kind of structure."""

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import draw_scores


def test_structures_and_scores() -> None:
    scores = draw_scores("normal", 5, (6, 7), seed=0)
    found = sp.map(scores, sp.DependencyTrees())
    assert torch.equal(found.structures, sp.DependencyTrees().argmax(scores))
    words = torch.arange(6)
    expected = torch.stack(
        [table[words, heads].sum() for table, heads in zip(scores, found.structures, strict=True)]
    )
    torch.testing.assert_close(found.scores, expected)


def test_no_gradient_and_the_dtype_of_the_scores() -> None:
    scores = draw_scores("normal", 2, (4, 4), seed=1).float().requires_grad_()
    found = sp.map(scores, sp.Matching())
    assert found.scores.dtype == torch.float32
    assert not found.scores.requires_grad
    assert found.structures.dtype == torch.int64


def test_padding_may_hold_anything() -> None:
    scores = draw_scores("normal", 2, (4, 4), seed=2)
    padded = torch.full((2, 5, 6), torch.nan, dtype=torch.float64)
    padded[:, :4, :4] = scores
    found = sp.map(padded, sp.Matching(), lengths=torch.tensor([[4, 4], [4, 4]]))
    plain = sp.map(scores, sp.Matching())
    assert torch.equal(found.structures[:, :4], plain.structures)
    torch.testing.assert_close(found.scores, plain.scores)


def test_a_total_that_half_precision_cannot_hold() -> None:
    scores = torch.full((2, 40, 41), -2000.0, dtype=torch.float16)
    scores[0] = 1.5
    found = sp.map(scores, sp.DependencyTrees())
    assert found.scores.tolist() == [60.0, -torch.inf]
    assert sp.DependencyTrees().contains(found.structures, (40, 41)).all()


def test_no_instances() -> None:
    found = sp.map(torch.zeros(0, 3, 4), sp.DependencyTrees())
    assert found.structures.shape == (0, 3)
    assert found.scores.shape == (0,)


@pytest.mark.parametrize(
    ("structure", "shape"),
    [(sp.Matching(), (3, 3)), (sp.DependencyTrees(), (3, 4)), (sp.Simplex(), (4,))],
    ids=str,
)
def test_bad_scores_are_named(structure: sp.Structure, shape: tuple[int, ...]) -> None:
    scores = draw_scores("normal", 3, shape, seed=3)
    part = tuple(structure.reads(scores)[1].nonzero()[0].tolist())
    for value in (torch.nan, torch.inf):
        bad = scores.clone()
        bad[(1, *part)] = value
        with pytest.raises(ValueError, match=r"scores\[1, "):
            sp.map(bad, structure)
    empty = scores.clone()
    empty[2] = -torch.inf
    with pytest.raises(ValueError, match=r"instance 2"):
        sp.map(empty, structure)


def test_an_oracle_in_python_adds_up_in_float64() -> None:
    """4.3125 + -2.421875 + 2.4375 = 4.328125, which bfloat16 rounds to 4.3125."""
    scores = torch.tensor([[4.3125, -2.421875, 2.4375]], dtype=torch.bfloat16)
    assert sp.map(scores, sp.Pairwise()).structures.tolist() == [[1, 1, 1]]
