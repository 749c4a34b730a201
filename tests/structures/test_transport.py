"""Transport: counts, membership, the oracle against enumeration, SciPy and HiGHS, the kit."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import StructureConformance, draw_scores
from tests.fuzz.family import Family
from tests.sides import MoreColumns, MoreRows, Square

SIZES = ((1, 1), (1, 3), (2, 2), (3, 1), (2, 3), (3, 2), (3, 3))


def _family(name: str, structure: sp.Transport, sizes: tuple[tuple[int, ...], ...]) -> Family:
    return Family(name, structure, sizes, lambda n, m: (n, m), fill=0, lengths=2, summed=False)


FUZZED = [
    _family("transport", sp.Transport(1, 3, column_least=0), SIZES),
    _family(
        "transport-bounded",
        sp.Transport(2, 2, row_least=1, column_least=0),
        ((1, 1), (2, 2), (2, 3), (3, 2), (3, 3)),
    ),
    _family("transport-each", sp.Transport([1, 2, 1], [2, 1, 1]), ((3, 3),)),
    _family("transport-flows", sp.Transport([2, 1], [1, 1, 1], pair_capacity=None), ((2, 3),)),
    _family(
        "transport-twice",
        sp.Transport(2, 3, column_least=0, pair_capacity=2),
        ((1, 1), (1, 3), (2, 2), (2, 3)),
    ),
]


class TestSquare(Square, StructureConformance):
    structure = sp.Transport(2, 2, row_least=0, column_least=1)
    sizes = (1, 2)


@pytest.mark.full
class TestThreeOfEach(TestSquare):
    sizes = (3, 3)


@pytest.mark.full
class TestOneOfEach(Square, StructureConformance):
    structure = sp.Transport(1, 1)
    sizes = (1, 4)


@pytest.mark.full
class TestMoreRows(MoreRows, StructureConformance):
    structure = sp.Transport(1, 3, column_least=1)


@pytest.mark.full
class TestMoreColumns(MoreColumns, StructureConformance):
    structure = sp.Transport(4, 1, row_least=1)


@pytest.mark.full
class TestAnySet(Square, StructureConformance):
    structure = sp.Transport(2, 2, row_least=0, column_least=0)
    has_empty = True
    sizes = (1, 3)


class TestFlows(Square, StructureConformance):
    """Parts that are numbers."""

    structure = sp.Transport(2, 2, pair_capacity=None)
    sizes = (1, 2)


@pytest.mark.full
class TestLargerFlows(TestFlows):
    sizes = (3, 3)


@pytest.mark.full
class TestFlowsWithBounds(Square, StructureConformance):
    structure = sp.Transport(3, 3, row_least=1, column_least=1, pair_capacity=2)
    sizes = (1, 2)


def capacities(count: int, most: int) -> st.SearchStrategy[Any]:
    return st.integers(0, most) | st.lists(st.integers(0, most), min_size=count, max_size=count)


@st.composite
def transports(draw: st.DrawFn, n: int, m: int, most: int = 3) -> sp.Transport:
    given, least = [], []
    for count in (n, m):
        most_of_each = draw(capacities(count, most))
        given.append(most_of_each)
        fewest = draw(st.sampled_from(["none", "zero", "one"]))
        if fewest == "none":
            least.append(None)
        elif isinstance(most_of_each, int):
            least.append(min(most_of_each, int(fewest == "one")))
        else:
            least.append([min(one, int(fewest == "one")) for one in most_of_each])
    pairs = draw(st.sampled_from([1, 1, 2, None]))
    return sp.Transport(
        given[0], given[1], row_least=least[0], column_least=least[1], pair_capacity=pairs
    )


def total(scores: Tensor, structures: Tensor) -> Tensor:
    """(B,) the scores of (B, n, m) structures."""
    return torch.where(structures > 0, structures * scores, 0.0).flatten(1).sum(-1)


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_oracle_finds_the_best_of_all(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    structure = data.draw(transports(n, m))
    kind = data.draw(st.sampled_from(["normal", "large", "integers", "equal", "forbidden"]))
    scores = draw_scores(kind, 1, (n, m), data.draw(st.integers(0, 2**32 - 1)))
    everything = structure.enumerate(n, m)
    assert len(everything) == structure.count(n, m)
    assert structure.contains(everything, (n, m)).all()
    legal = everything[~((everything > 0) & (scores == -torch.inf)).flatten(1).any(-1)]
    if len(legal) == 0:
        with pytest.raises(ValueError, match="no structure"):
            structure.argmax(scores)
        return
    found = structure.argmax(scores)
    assert structure.contains(found, (n, m)).all()
    best = float(total(scores.expand(len(legal), -1, -1), legal).max())
    assert float(total(scores, found)) == pytest.approx(best, rel=1e-12, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_contains_agrees_with_the_list(data: st.DataObject) -> None:
    """On random matrices, of which few are structures, and on structures with a change."""
    n, m = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3))
    structure = data.draw(transports(n, m, most=2))
    everything = structure.enumerate(n, m)
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**32 - 1)))
    tables = torch.randint(-1, 4, (64, n, m), generator=generator)
    listed = (tables[:, None] == everything).flatten(2).all(-1).any(-1)
    assert torch.equal(structure.contains(tables, (n, m)), listed)


def by_linprog(scores: np.ndarray, structure: sp.Transport) -> float | None:
    """The highest score, by HiGHS; None if there is no structure."""
    n, m = scores.shape
    rows, columns = structure.bounds(n, m)
    sums = np.concatenate([np.repeat(np.eye(n), m, 1), np.tile(np.eye(m), n)])
    least, most = np.array([*rows, *columns]).T
    found = linprog(
        -np.nan_to_num(scores, neginf=0).ravel(),
        A_ub=np.concatenate([sums, -sums]),
        b_ub=np.concatenate([most, -least]),
        bounds=[
            (0, 0 if score == -np.inf else structure.pair_capacity) for score in scores.ravel()
        ],
    )
    return None if found.x is None else -float(found.fun)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_oracle_is_as_good_as_a_linear_program(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(1, 14)), data.draw(st.integers(1, 14))
    structure = data.draw(transports(n, m, most=9))
    scores = draw_scores("normal", 1, (n, m), data.draw(st.integers(0, 2**32 - 1)))
    banned = data.draw(st.sampled_from([0.0, 0.2, 0.6]))
    generator = torch.Generator().manual_seed(n * m)
    scores[torch.rand(scores.shape, generator=generator) < banned] = -torch.inf
    expected = by_linprog(scores[0].numpy(), structure)
    if expected is None:
        with pytest.raises(ValueError, match="no structure"):
            structure.argmax(scores)
        return
    found = structure.argmax(scores)
    assert structure.contains(found, (n, m)).all()
    assert float(total(scores, found)) == pytest.approx(expected, abs=1e-9)


def test_it_is_an_assignment_if_all_capacities_are_one() -> None:
    scores = draw_scores("normal", 4, (60, 60), seed=3)
    found = sp.Transport(1, 1).argmax(scores)
    for table, one in zip(scores.numpy(), found.numpy(), strict=True):
        assert np.array_equal(one.argmax(-1), linear_sum_assignment(table, maximize=True)[1])
    small, square = scores[:1, :12, :12], sp.Matching()
    post, same = sp.sparsemap(small, sp.Transport(1, 1)), sp.sparsemap(small, square)
    torch.testing.assert_close(post.marginals, same.marginals, rtol=0, atol=1e-8)


def test_costs_of_points_on_a_line() -> None:
    """Optimal transport in one dimension matches the units in order."""
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.rand(k, generator=generator, dtype=torch.float64).sort().values for k in (30, 40))
    rows = torch.randint(1, 20, (30,), generator=generator)
    cuts = torch.randperm(int(rows.sum()) - 1, generator=generator)[:39].sort().values + 1
    columns = torch.diff(cuts, prepend=cuts.new_zeros(1), append=rows.sum()[None])
    structure = sp.Transport(rows, columns, pair_capacity=None)
    best = sp.map(-(x[:, None] - y).abs()[None], structure)
    expected = (x.repeat_interleave(rows) - y.repeat_interleave(columns)).abs().sum()
    assert float(-best.scores) == pytest.approx(float(expected), abs=1e-10)
    assert torch.equal(best.structures[0].sum(-1), rows)
    assert torch.equal(best.structures[0].sum(-2), columns)


def test_marginals_are_a_regularised_plan() -> None:
    """Against the quadratic program, by projected ascent on its dual."""
    scores = draw_scores("normal", 3, (5, 4), seed=1)
    rows, columns = [3, 1, 2, 2, 4], [5, 3, 2, 2]
    post = sp.sparsemap(scores, sp.Transport(rows, columns, pair_capacity=None))
    assert post.converged.all()
    a, b = torch.tensor(rows).double(), torch.tensor(columns).double()
    f, g = torch.zeros(3, 5, 1).double(), torch.zeros(3, 1, 4).double()
    plan = scores
    for _ in range(4000):
        plan = (scores - f - g).clamp(min=0)
        f += 0.2 * (plan.sum(-1) - a)[:, :, None]
        plan = (scores - f - g).clamp(min=0)
        g += 0.2 * (plan.sum(-2) - b)[:, None]
    torch.testing.assert_close(post.marginals, plan, rtol=0, atol=1e-7)


def test_a_batch_of_different_sizes() -> None:
    structure = sp.Transport(2, 4, column_least=0)
    scores = draw_scores("normal", 30, (6, 5), seed=3)
    lengths = torch.tensor([[1 + b % 6, 3 + b % 3] for b in range(30)])
    padded = scores.masked_fill(~structure.reads(scores, lengths), torch.nan)
    found = structure.argmax(padded, lengths)
    assert structure.contains(found, (6, 5), lengths).all()
    for one, table, (n, m) in zip(scores, found, lengths.tolist(), strict=True):
        alone = structure.argmax(one[None, :n, :m])
        assert float(total(one[None], table[None])) == pytest.approx(
            float(total(one[None, :n, :m], alone)), abs=1e-12
        )
        assert table[n:].sum() == table[:, m:].sum() == 0


def test_sizes_take_the_first_capacities() -> None:
    structure = sp.Transport([2, 1, 3], [1, 2, 3], pair_capacity=None)
    assert structure.argmax(torch.zeros(1, 3, 3), torch.tensor([[2, 2]])).sum((-2, -1)) == 3
    message = "instance 1: no structure of .* has 3 rows and 2 columns .* rows need 6 units, but "
    with pytest.raises(ValueError, match=message + "the columns take 3"):
        structure.argmax(torch.zeros(2, 3, 3), torch.tensor([[2, 2], [3, 2]]))


def test_scores_of_any_magnitude() -> None:
    scores = draw_scores("normal", 3, (8, 8), seed=0)
    for structure in (sp.Transport(3, 3), sp.Transport(3, 9, column_least=1, pair_capacity=None)):
        plain = structure.argmax(scores)
        for factor in (1e-200, 1e150, 1e199):
            assert torch.equal(structure.argmax(scores * factor), plain)
    # A common score of an exact row or column changes nothing, and costs no precision.
    offsets = torch.arange(8.0, dtype=torch.float64)[:, None] * 2.0**60
    whole = (scores * 1000).round()
    shifted = whole + offsets
    assert torch.equal(
        sp.Transport(3, 3).argmax(shifted), sp.Transport(3, 3).argmax(shifted - offsets)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"row_capacities": -1}, "row_capacities must be at least 0, got -1"),
        ({"column_capacities": [1, 2.5]}, r"column_capacities\[1\] must be a whole number"),
        ({"column_capacities": "21"}, "column_capacities must be a whole number, got '21'"),
        ({"row_capacities": []}, "row_capacities: expected at least one number, got none"),
        ({"row_capacities": 30_001}, "row_capacities must be at most 30000, got 30001"),
        ({"row_least": 2}, "row_least of row 0 is 2: expected at most its capacity, 1"),
        ({"column_least": [0, 2], "column_capacities": [0, 1]}, "column_least of column 1 is 2"),
        ({"row_least": [0, 0, 0], "row_capacities": [1, 1]}, "one row_least for each of 2 rows"),
        ({"pair_capacity": 0}, "pair_capacity must be at least 1, got 0"),
        ({"pair_capacity": 2.0}, "pair_capacity must be a whole number"),
    ],
    ids=str,
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    given = {"row_capacities": 1, "column_capacities": 1} | options
    with pytest.raises(ValueError, match=message):
        sp.Transport(**given)


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (sp.Transport([1, 2], 2), "have 3 rows, but Transport has 2 row_capacities"),
        (sp.Transport(2, 9, column_least=[0, 0, 0]), "have 2 columns, but .* 3 column_least"),
        (sp.Transport(3, 9, column_least=0), "row 0 needs 3 units, but can be paired 2 times"),
        (sp.Transport(1, 4), "column 0 needs 4 units, but can be paired 3 times at most"),
        (sp.Transport(1, 2), "the columns need 4 units, but the rows take 3"),
        (sp.Transport(1, 1), "the rows need 3 units, but the columns take 2"),
    ],
    ids=str,
)
def test_capacities_that_do_not_fit(structure: sp.Transport, message: str) -> None:
    for call in (sp.map, sp.sparsemap):
        with pytest.raises(ValueError, match=message):
            call(torch.zeros(2, 3, 2), structure)


def test_pairs_that_leave_no_structure() -> None:
    """The totals fit, but two rows must share a column that takes one."""
    scores = torch.zeros(2, 2, 2)
    scores[1, :, 0] = -torch.inf
    for structure in (sp.Transport(1, 1), sp.Transport(1, 1, pair_capacity=None)):
        with pytest.raises(ValueError, match="instance 1 has no structure left"):
            sp.map(scores, structure)


def test_there_are_no_sums() -> None:
    with pytest.raises(ValueError, match="#P-hard"):
        sp.marginals(torch.zeros(1, 2, 2), sp.Transport(1, 1))
    flows = sp.Transport(1, 1, pair_capacity=None)
    with pytest.raises(ValueError, match="expected a family with a k-best algorithm"):
        sp.kbest(torch.zeros(1, 2, 2), flows, 2)
    with pytest.raises(ValueError, match="has no native solver"):
        sp.sparsemap(torch.zeros(1, 2, 2), flows, solver="native")


def test_transports_are_values() -> None:
    one, same = sp.Transport([1, 2], 3, row_least=0), sp.Transport((1, 2), 3, row_least=0)
    assert one == same
    assert hash(one) == hash(same)
    assert one != sp.Transport([1, 2], 3)
    assert repr(one) == "Transport([1, 2], 3, row_least=0)"
    assert eval(repr(one), {"Transport": sp.Transport}) == one
    many = sp.Transport(torch.ones(20, dtype=torch.int64), 20, pair_capacity=None)
    assert repr(many) == "Transport([1, 1, 1, 1, 1, 1, ... 20 in all], 20, pair_capacity=None)"
