"""Sums over monotone paths by lines, against the chart and against closed forms."""

from math import comb, log

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import sparsewood as sp
from sparsewood.distribution import PartSums
from sparsewood.structures.alignment import Alignment
from sparsewood.testing import draw_scores

BY_COLUMNS = [
    Alignment(steps="speech"),
    Alignment(steps="ctc"),
    Alignment(steps=[(0, 1), (1, 1), (2, 1), (3, 1)]),
]
BY_ROWS = Alignment(steps=[(1, 0), (1, 1), (1, 3)])


def by_steps(scores: Tensor, family: Alignment, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    """Log Z and marginals by the chart, which the family uses where it has no other way."""
    shifted = family.shift(scores.double().clamp(min=-1e300), lengths)
    log_z, steps = family.sums(shifted.scores, lengths)
    assert steps is not None
    return log_z + shifted.shared, family.parts_of(steps)


@pytest.mark.parametrize("family", [*BY_COLUMNS, BY_ROWS], ids=str)
@pytest.mark.parametrize("kind", ["normal", "large", "integers", "equal", "forbidden"])
def test_they_are_the_sums_of_the_chart(family: Alignment, kind: str) -> None:
    n, m = (14, 9) if family == BY_ROWS else (9, 14)
    scores = draw_scores(kind, 6, (n, m), seed=2)
    scores[:, 0, 0] = scores[:, -1, -1] = 0.3
    lengths = torch.tensor([[n, m], [n - 2, m], [n, m - 2], [n - 2, m - 2], [n - 2, m], [n, m]])
    if kind == "forbidden":  # keep a path
        best = family.argmax(draw_scores("normal", 6, (n, m), seed=3), lengths)
        scores = torch.where(best == 1, 0.1, scores)
    scores = scores.masked_fill(~family.reads(scores, lengths), torch.nan)
    dist = sp.marginals(scores, family, lengths=lengths)
    # With large scores no path is near the best of every line, which leaves them to the chart.
    assert isinstance(dist._found, PartSums) == (kind != "large")
    expected = by_steps(scores.nan_to_num(nan=0.0), family, lengths)
    scale = float(scores.nan_to_num(nan=0.0, neginf=0.0).abs().max())
    assert_close(dist.log_partition, expected[0], rtol=1e-13, atol=1e-13 * max(1.0, scale))
    assert_close(dist.marginals, expected[1], rtol=1e-9, atol=1e-13 * max(1.0, scale))
    total = dist.log_partition.sum() + (dist.marginals * dist.marginals).sum()
    assert total.isfinite()


@pytest.mark.parametrize("size", [1.0, -1e8, 1e60, -1e60, 1e199])
def test_equal_scores_of_any_size(size: float) -> None:
    """All C(m - 1, n - 1) paths of speech are equally likely, whatever the common score."""
    scores = torch.full((1, 40, 90), size, dtype=torch.float64)
    dist = sp.marginals(scores, sp.Alignment(steps="speech"))
    count = torch.tensor([90 * size + log(comb(89, 39))], dtype=torch.float64)
    assert_close(dist.log_partition, count, rtol=1e-13, atol=1e-9)
    assert_close(dist.marginals.sum(1), torch.ones(1, 90).double())
    middle = comb(44, 19) * comb(45, 20) / comb(89, 39)  # in row 19 at column 44
    assert float(dist.marginals[0, 19, 44]) == pytest.approx(middle, rel=1e-11)


@pytest.mark.parametrize("size", [1.0, 1e60, -1e60, 1e199])
def test_warping_paths_of_equal_scores(size: float) -> None:
    """Of large scores, only the longest paths count; of very negative ones, the shortest."""
    scores = torch.full((1, 8, 11), size, dtype=torch.float64)
    dist = sp.marginals(scores, sp.Alignment())
    counts = {18 - d: comb(17 - d, d) * comb(17 - 2 * d, 7 - d) for d in range(8)}
    if size == 1.0:
        terms = [length + log(count) for length, count in counts.items()]
        expected = torch.tensor(terms, dtype=torch.float64).logsumexp(0)
    else:
        cells = max(counts) if size > 0 else min(counts)
        expected = torch.tensor(cells * size + log(counts[cells]), dtype=torch.float64)
        assert float(dist.marginals.sum()) == pytest.approx(cells, rel=1e-12)
    assert_close(dist.log_partition[0], expected, rtol=1e-13, atol=1e-9)
    assert dist.marginals.isfinite().all()


def test_more_paths_than_a_double_can_count() -> None:
    """C(2999, 1499) is some 1e901."""
    scores = torch.zeros(1, 1500, 3000, dtype=torch.float64)
    dist = sp.marginals(scores, sp.Alignment(steps="speech"))
    assert float(dist.log_partition) == pytest.approx(log(comb(2999, 1499)), rel=1e-13)
    assert_close(dist.marginals.sum(1), torch.ones(1, 3000).double(), rtol=1e-11, atol=0)


def test_a_path_that_is_nearly_impossible() -> None:
    """All other paths are forbidden, and its score is far below that of its columns."""
    scores = torch.zeros(1, 3, 6, dtype=torch.float64)
    scores[0, 0, :4] = -1e7
    scores[0, 1, :4] = -torch.inf
    dist = sp.marginals(scores, sp.Alignment(steps="speech"))
    assert float(dist.log_partition) == -4e7
    assert dist.marginals[0].tolist() == [
        [1.0] * 4 + [0.0] * 2,
        [0.0] * 4 + [1, 0],
        [0.0] * 5 + [1],
    ]


def test_a_cell_that_no_path_visits_takes_no_digits() -> None:
    """The first row ends before the last column, where paths end in one of the last two rows."""
    scores = torch.zeros(1, 3, 2, dtype=torch.float64)
    for huge in (1.0, 1e9, 1e101):
        scores[0, 0, 1] = huge
        dist = sp.marginals(scores, sp.Alignment(steps="ctc"))
        assert float(dist.log_partition) == pytest.approx(log(3), rel=1e-13)
        expected = torch.tensor([[1, 0], [2, 2], [0, 1]], dtype=torch.float64) / 3
        assert_close(dist.marginals[0], expected, rtol=1e-13, atol=0)


def test_bad_scores_are_named() -> None:
    for value in (torch.nan, torch.inf):
        scores = torch.zeros(2, 3, 5, dtype=torch.float16)  # read without a look at their range
        scores[1, 1, 2] = value
        with pytest.raises(ValueError, match=r"scores\[1, 1, 2\]"):
            sp.marginals(scores, sp.Alignment(steps="speech"))
    scores = torch.zeros(2, 3, 5)
    scores[1, 1] = -torch.inf
    with pytest.raises(ValueError, match="instance 1 has no structure left"):
        sp.marginals(scores, sp.Alignment(steps="speech"))


@pytest.mark.parametrize("family", [BY_COLUMNS[1], BY_ROWS], ids=str)
def test_derivatives(family: Alignment) -> None:
    scores = draw_scores("normal", 1, (5, 4), seed=1).requires_grad_()

    def results(scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        dist = sp.marginals(scores, family)
        return dist.log_partition, dist.marginals, dist.entropy()

    assert torch.autograd.gradcheck(results, (scores,))
    assert torch.autograd.gradgradcheck(results, (scores,), fast_mode=True)
