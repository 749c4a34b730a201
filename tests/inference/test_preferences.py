"""The integers that define canonical weights, and the reference implementation."""

import pytest
import torch

import sparsewood as sp
from sparsewood.inference._preferences import preferences
from tests.pulling import pulled


def _mixed(index: tuple[int, ...]) -> int:
    """The hash of one part, in Python integers."""
    golden, bits = 0x9E3779B97F4A7C15, 2**64 - 1
    h = golden
    for x in index:
        z = ((h ^ (x + 1)) + golden) & bits
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & bits
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & bits
        h = z ^ (z >> 31)
    return h >> 34


@pytest.mark.parametrize("shape", [(7,), (4, 5), (3, 2, 4)])
def test_whole_numbers_of_30_bits(shape: tuple[int, ...]) -> None:
    w = preferences(shape)
    assert w.dtype == torch.float64
    for index in torch.cartesian_prod(*map(torch.arange, shape)).reshape(-1, len(shape)).tolist():
        assert int(w[tuple(index)]) == _mixed(tuple(index))


def test_a_cut_leaves_the_rest() -> None:
    assert torch.equal(preferences((9, 10))[:4, :5], preferences((4, 5)))
    assert torch.equal(preferences((5, 3, 4))[:2, :, :3], preferences((2, 3, 3)))


def test_they_tell_structures_apart() -> None:
    trees = sp.DependencyTrees()
    columns = trees.indicator(trees.enumerate(5), (5, 6)).flatten(1)
    assert len((columns @ preferences((5, 6)).flatten()).unique()) == 6**4


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (0, [0.6, 0.1, 0.0, 0.3]),
        (1, [0.3, 0.4, 0.3, 0.0]),
        (2, [0.3, 0.4, 0.3, 0.0]),
        (3, [0.6, 0.1, 0.0, 0.3]),
    ],
)
def test_reference_on_a_square(first: int, expected: list[float]) -> None:
    """For two choices with marginals 0.7 and 0.6, the pulled corner is on the diagonal."""
    heads = torch.tensor([[0, 1, 1, 1], [0, 1, 1, 2], [0, 1, 2, 1], [0, 1, 2, 2]])
    columns = sp.DependencyTrees().indicator(heads, (4, 5)).flatten(1)
    u = torch.tensor([0.42, 0.28, 0.18, 0.12], dtype=torch.float64) @ columns
    w = 2.0**33 * columns[first] + preferences((4, 5)).flatten()
    found = pulled(columns, u, w)
    torch.testing.assert_close(found.tolist(), expected, rtol=0, atol=1e-14)


def test_reference_where_one_structure_is_left() -> None:
    columns = torch.eye(3, dtype=torch.float64)
    w = torch.tensor([3.0, 2.0, 1.0], dtype=torch.float64)
    torch.testing.assert_close(pulled(columns, columns[1], w), columns[1], rtol=0, atol=1e-14)
