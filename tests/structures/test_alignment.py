"""Alignments: counts, membership, the oracle against plain recursions, and the conformance kit."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import MarginalsConformance, StructureConformance, draw_scores
from tests.fuzz.family import Family
from tests.sides import MoreColumns, MoreRows, Square

FUZZED = [
    Family(
        f"alignment{'-gaps' * gaps}",
        sp.Alignment(gaps),
        ((1, 1), (1, 3), (2, 2), (3, 1), (2, 3), (3, 2), (3, 3)),
        lambda n, m: (n, m),
        0,
        lengths=2,
    )
    for gaps in (False, True)
]

both = pytest.mark.parametrize("gaps", [False, True], ids=["warping", "gaps"])


@pytest.mark.full
class TestWarpingSquare(Square, StructureConformance, MarginalsConformance):
    structure = sp.Alignment()


class TestWarpingMoreRows(MoreRows, StructureConformance, MarginalsConformance):
    structure = sp.Alignment()


@pytest.mark.full
class TestGapsSquare(Square, StructureConformance, MarginalsConformance):
    structure = sp.Alignment(gaps=True)
    has_empty = True


class TestGapsMoreColumns(MoreColumns, StructureConformance, MarginalsConformance):
    structure = sp.Alignment(gaps=True)
    has_empty = True


class TestSumsOfWarpingMoreColumns(MoreColumns, MarginalsConformance):
    structure = sp.Alignment()


class TestSumsOfGapsMoreRows(MoreRows, MarginalsConformance):
    structure = sp.Alignment(gaps=True)
    has_empty = True


def best_score(scores: list[list[float]], gaps: bool) -> float:
    """The highest score of an alignment of (n, m) scores, by the textbook recursion."""
    best: dict[tuple[int, int], float] = {}
    for i, row in enumerate(scores):
        for j, score in enumerate(row):
            diagonal = best.get((i - 1, j - 1), 0.0 if gaps else float("-inf"))
            up = best.get((i - 1, j), 0.0 if gaps else float("-inf"))
            left = best.get((i, j - 1), 0.0 if gaps else float("-inf"))
            if gaps:
                best[i, j] = max(diagonal + score, up, left)
            else:
                best[i, j] = score + (0.0 if i == j == 0 else max(diagonal, up, left))
    return best[len(scores) - 1, len(scores[0]) - 1]


def total(scores: Tensor, cells: Tensor) -> float:
    return float(scores[cells.bool()].sum())


@settings(deadline=None, max_examples=100)
@given(
    n=st.integers(1, 25),
    m=st.integers(1, 25),
    kind=st.sampled_from(["normal", "large", "integers", "equal", "forbidden"]),
    gaps=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_oracle_is_the_plain_recursion(n: int, m: int, kind: str, gaps: bool, seed: int) -> None:
    alignment = sp.Alignment(gaps)
    scores = draw_scores(kind, 1, (n, m), seed)
    expected = best_score(scores[0].tolist(), gaps)
    if expected == -torch.inf:
        with pytest.raises(ValueError, match="instance 0"):
            alignment.argmax(scores)
        return
    found = alignment.argmax(scores)
    assert alignment.contains(found, (n, m)).all()
    assert total(scores[0], found[0]) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@both
def test_oracle_on_a_batch_of_different_sizes(gaps: bool) -> None:
    scores = draw_scores("normal", 40, (7, 9), seed=3)
    lengths = torch.tensor([[1 + b % 7, 1 + b % 9] for b in range(40)])
    padded = scores.masked_fill(~sp.Alignment().reads(scores, lengths), torch.nan)
    found = sp.Alignment(gaps).argmax(padded, lengths)
    assert sp.Alignment(gaps).contains(found, (7, 9), lengths).all()
    for one, cells, (n, m) in zip(scores, found, lengths.tolist(), strict=True):
        assert total(one, cells) == pytest.approx(best_score(one[:n, :m].tolist(), gaps))


@both
def test_scores_of_any_magnitude(gaps: bool) -> None:
    scores = draw_scores("normal", 3, (8, 9), seed=0)
    plain = sp.Alignment(gaps).argmax(scores)
    for factor in (1e-200, 1e199):
        assert torch.equal(sp.Alignment(gaps).argmax(scores * factor), plain)


def test_equal_paths_take_the_diagonal() -> None:
    assert torch.equal(sp.Alignment().argmax(torch.zeros(1, 4, 4))[0], torch.eye(4).long())
    assert (sp.Alignment(gaps=True).argmax(torch.zeros(1, 4, 4)) == 0).all()


@both
def test_transposed_scores_have_transposed_marginals(gaps: bool) -> None:
    scores = draw_scores("normal", 3, (6, 9), seed=6)
    wide = sp.sparsemap(scores, sp.Alignment(gaps))
    tall = sp.sparsemap(scores.mT, sp.Alignment(gaps))
    assert wide.converged.all()
    torch.testing.assert_close(wide.marginals, tall.marginals.mT, rtol=0, atol=1e-9)


def test_counts() -> None:
    assert [sp.Alignment().count(n, n) for n in range(1, 7)] == [1, 3, 13, 63, 321, 1683]
    assert sp.Alignment().count(1, 5) == 1
    assert sp.Alignment().count(3, 4) == sp.Alignment().count(4, 3) == 25
    assert sp.Alignment(gaps=True).count(3, 4) == 35


@both
def test_sizes_that_cannot_be_counted_or_listed(gaps: bool) -> None:
    for size in ((0, 2), (2, 0)):
        with pytest.raises(ValueError, match="at least one row"):
            sp.Alignment(gaps).count(*size)
    with pytest.raises(ValueError, match=r"at most 6 .* \(2, 7\)"):
        sp.Alignment(gaps).enumerate(2, 7)


@pytest.mark.parametrize("n", [1, 2, 3])
@both
def test_contains_exactly_what_enumerate_lists(gaps: bool, n: int) -> None:
    """Among all 0/1 matrices with n rows and 3 columns."""
    alignment = sp.Alignment(gaps)
    cells = torch.cartesian_prod(*[torch.arange(2)] * (3 * n)).reshape(-1, n, 3)
    inside = cells[alignment.contains(cells, (n, 3))]
    assert {tuple(one.flatten().tolist()) for one in inside} == {
        tuple(one.flatten().tolist()) for one in alignment.enumerate(n, 3)
    }


def test_contains_of_padded_alignments() -> None:
    path = torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 0]])
    longer = torch.tensor([[1, 0, 0], [0, 1, 1], [0, 0, 0]])
    twice = torch.tensor([[2, 0, 0], [0, 1, 0], [0, 0, 0]])
    cells, lengths = torch.stack([path, longer, twice]), torch.tensor([[2, 2]] * 3)
    assert sp.Alignment().contains(cells, (3, 3), lengths).tolist() == [True, False, False]
    assert sp.Alignment(gaps=True).contains(cells, (3, 3), lengths).tolist() == [True, False, False]
    assert sp.Alignment().contains(cells, (3, 3), torch.tensor([[2, 3]] * 3)).tolist() == [
        False,
        True,
        False,
    ]
