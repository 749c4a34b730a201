"""Matchings: counts, membership, the oracle against SciPy's, and the conformance kit."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import StructureConformance, draw_scores
from tests.fuzz.family import Family
from tests.sides import MoreColumns, MoreRows, Square

FUZZED = [
    Family(
        f"matching{'-partial' * partial}",
        sp.Matching(partial),
        ((1, 1), (1, 3), (2, 2), (3, 1), (2, 3), (3, 2), (3, 3)),
        lambda n, m: (n, m),
        lengths=2,
        summed=False,
    )
    for partial in (False, True)
]

both = pytest.mark.parametrize("partial", [False, True], ids=["full", "partial"])


@pytest.mark.full
class TestSquare(Square, StructureConformance):
    structure = sp.Matching()


@pytest.mark.full
class TestMoreRows(MoreRows, StructureConformance):
    structure = sp.Matching()


class TestMoreColumns(MoreColumns, StructureConformance):
    structure = sp.Matching()


class TestPartialSquare(Square, StructureConformance):
    structure = sp.Matching(partial=True)
    has_empty = True
    sizes = (1, 3)


@pytest.mark.full
class TestPartialMoreColumns(MoreColumns, StructureConformance):
    structure = sp.Matching(partial=True)
    has_empty = True


def total(scores: Tensor, columns: Tensor) -> float:
    """The score of one matching (n,)."""
    rows = (columns >= 0).nonzero()[:, 0]
    return float(scores[rows, columns[rows]].sum())


def best_by_scipy(scores: Tensor, partial: bool) -> float | None:
    """The highest score of a matching of (n, m) scores; None when none is left."""
    table = scores.numpy()
    if partial:  # a column of 0 per row, to leave the row unmatched
        table = np.concatenate([np.maximum(table, 0), np.zeros((len(table), len(table)))], axis=1)
    try:
        rows, columns = linear_sum_assignment(table, maximize=True)
    except ValueError:  # "cost matrix is infeasible"
        return None
    return float(table[rows, columns].sum())


@settings(deadline=None, max_examples=150)
@given(
    n=st.integers(1, 30),
    m=st.integers(1, 30),
    kind=st.sampled_from(["normal", "large", "integers", "equal"]),
    partial=st.booleans(),
    banned=st.sampled_from([0.0, 0.3, 0.8]),
    seed=st.integers(0, 2**32 - 1),
)
def test_oracle_is_as_good_as_scipys(
    n: int, m: int, kind: str, partial: bool, banned: float, seed: int
) -> None:
    matching = sp.Matching(partial)
    scores = draw_scores(kind, 1, (n, m), seed)
    generator = torch.Generator().manual_seed(seed)
    scores[torch.rand(scores.shape, generator=generator) < banned] = -torch.inf
    expected = best_by_scipy(scores[0], partial)
    if expected is None:
        with pytest.raises(ValueError, match="instance 0"):
            matching.argmax(scores)
        return
    found = matching.argmax(scores)
    assert matching.contains(found, (n, m)).all()
    scale = float(scores[scores.isfinite()].abs().max()) if scores.isfinite().any() else 1.0
    assert total(scores[0], found[0]) == pytest.approx(expected, rel=0, abs=1e-12 * n * scale)


@both
def test_oracle_on_a_batch_of_different_sizes(partial: bool) -> None:
    scores = draw_scores("normal", 40, (7, 9), seed=3)
    lengths = torch.tensor([[1 + b % 7, 1 + b % 9] for b in range(40)])
    padded = scores.masked_fill(~sp.Matching().reads(scores, lengths), torch.nan)
    found = sp.Matching(partial).argmax(padded, lengths)
    assert sp.Matching(partial).contains(found, (7, 9), lengths).all()
    for one, columns, (n, m) in zip(scores, found, lengths.tolist(), strict=True):
        expected = best_by_scipy(one[:n, :m], partial)
        assert total(one, columns) == pytest.approx(expected, abs=1e-12)


def test_scores_of_any_magnitude() -> None:
    scores = draw_scores("normal", 3, (8, 8), seed=0)
    plain = sp.Matching().argmax(scores)
    for factor in (1e-200, 1e150, 1e199):
        assert torch.equal(sp.Matching().argmax(scores * factor), plain)
    # A common score of a row or a column changes nothing, and costs no precision.
    offsets = torch.arange(8.0, dtype=torch.float64) * 2.0**60
    whole = (scores * 1000).round()
    shifted = whole + offsets[:, None]
    assert torch.equal(
        sp.Matching().argmax(shifted), sp.Matching().argmax(shifted - offsets[:, None])
    )


@both
def test_a_pair_that_has_to_be_used(partial: bool) -> None:
    """The only remaining matching, whatever its score."""
    scores = torch.full((1, 3, 3), -torch.inf, dtype=torch.float64)
    scores[0, [0, 1, 2, 0], [2, 0, 1, 0]] = torch.tensor([-1e9, 5.0, 1.0, 3.0]).double()
    assert sp.Matching(partial).argmax(scores).tolist() == (
        [[-1, 0, 1]] if partial else [[2, 0, 1]]
    )


def test_equal_scores_are_decided_in_one_way() -> None:
    for n, m in ((4, 4), (4, 6), (6, 4)):
        scores = torch.ones(5, n, m)
        found = sp.Matching().argmax(scores)
        assert (found == found[0]).all()
        assert torch.equal(found, sp.Matching().argmax(scores.clone()))


def test_marginals_are_doubly_stochastic() -> None:
    scores = draw_scores("normal", 4, (20, 20), seed=5)
    post = sp.sparsemap(scores, sp.Matching())
    assert post.converged.all()
    one = torch.ones(4, 20, dtype=torch.float64)
    torch.testing.assert_close(post.marginals.sum(-1), one)
    torch.testing.assert_close(post.marginals.sum(-2), one)


@both
def test_transposed_scores_have_transposed_marginals(partial: bool) -> None:
    scores = draw_scores("normal", 3, (4, 7), seed=6)
    wide = sp.sparsemap(scores, sp.Matching(partial)).marginals
    tall = sp.sparsemap(scores.mT, sp.Matching(partial)).marginals
    torch.testing.assert_close(wide, tall.mT, rtol=0, atol=1e-9)


def test_counts() -> None:
    assert sp.Matching().count(10, 10) == 3628800
    assert sp.Matching().count(3, 5) == sp.Matching().count(5, 3) == 60
    assert sp.Matching(partial=True).count(3, 3) == 34
    assert sp.Matching(partial=True).count(2, 4) == 21


@both
def test_sizes_that_cannot_be_counted_or_listed(partial: bool) -> None:
    for size in ((0, 2), (2, 0)):
        with pytest.raises(ValueError, match="at least one row"):
            sp.Matching(partial).count(*size)
    with pytest.raises(ValueError, match=r"at most 6 .* \(7, 2\)"):
        sp.Matching(partial).enumerate(7, 2)


@pytest.mark.parametrize(
    ("columns", "size", "full", "partial"),
    [
        ([1, 0, 2], (3, 3), True, True),
        ([1, 0, 2], (3, 5), True, True),
        ([1, 0, -1], (3, 3), False, True),  # row 2 and column 2 are free
        ([1, 0, -1], (3, 2), True, True),
        ([1, 0, -1], (2, 3), True, True),  # row 2 is padding
        ([1, -1, 0], (2, 3), False, False),  # padding has a column
        ([1, 1, 0], (3, 3), False, False),  # a column twice
        ([3, 1, 0], (3, 3), False, False),  # out of range
        ([-2, 1, 0], (3, 3), False, False),
        ([-1, -1, -1], (3, 3), False, True),
    ],
)
def test_contains(columns: list[int], size: tuple[int, int], full: bool, partial: bool) -> None:
    one, lengths = torch.tensor([columns]), torch.tensor([size])
    shape = (len(columns), size[1])
    assert sp.Matching().contains(one, shape, lengths).item() is full
    assert sp.Matching(partial=True).contains(one, shape, lengths).item() is partial


def test_indicator_and_decode_of_padded_matchings() -> None:
    columns = torch.tensor([[2, 0, -1], [-1, 1, -1]])
    parts = sp.Matching().indicator(columns, (3, 4))
    assert parts.dtype == torch.float64
    assert parts[0].tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert torch.equal(sp.Matching().decode(parts), columns)
