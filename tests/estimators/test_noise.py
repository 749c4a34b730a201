"""The moments of noise."""

import math

import pytest
import torch

from sparsewood.estimators import _noise

COUNT = 40_000


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def check_gumbel(drawn: torch.Tensor) -> None:
    """Mean and variance of (COUNT,) within five standard errors; a Gumbel variable's kurtosis."""
    mean, variance = 0.5772156649, math.pi**2 / 6
    assert abs(drawn.mean() - mean) < 5 * math.sqrt(variance / COUNT)
    assert abs(drawn.var() - variance) < 5 * variance * math.sqrt(4.4 / COUNT)


def test_gumbel() -> None:
    drawn = _noise.gumbel(torch.empty(COUNT), generator())
    assert drawn.dtype == torch.float64
    check_gumbel(drawn)


def test_normal() -> None:
    drawn = _noise.normal(torch.empty(COUNT), generator())
    assert drawn.dtype == torch.float64
    assert abs(drawn.mean()) < 5 / math.sqrt(COUNT)
    assert abs(drawn.var() - 1) < 5 * math.sqrt(2 / COUNT)


@pytest.mark.parametrize("k", [1, 4])
def test_k_numbers_add_up_to_a_gumbel_variable(k: int) -> None:
    """Approximate: ten terms of the series miss 1/20 of the mean, and some of the variance."""
    like = torch.empty(COUNT, k)
    drawn = _noise.sum_of_gamma(like, torch.full((COUNT,), k), generator())
    assert drawn.shape == like.shape
    assert drawn.dtype == torch.float64
    total = drawn.sum(-1)
    mean = sum(1 / i for i in range(1, 11)) - math.log(10)
    variance = sum(1 / i**2 for i in range(1, 11))
    assert abs(mean - 0.5772156649) < 0.05
    assert abs(total.mean() - mean) < 5 * math.sqrt(variance / COUNT)
    assert abs(total.var() - variance) < 5 * variance * math.sqrt(4.4 / COUNT)


def test_each_row_has_its_own_k() -> None:
    drawn = _noise.sum_of_gamma(torch.empty(2, COUNT), torch.tensor([1, 10]), generator())
    variance = sum(1 / i**2 for i in range(1, 11))
    for row, k in zip(drawn, (1, 10), strict=True):
        assert abs(row.var() - variance / k) < 0.1 * variance / k


def test_only_the_values_asked_for_are_drawn() -> None:
    k, where = torch.tensor([2, 5]), torch.tensor([[True, False, True], [False, True, True]])
    some = _noise.sum_of_gamma(torch.empty(2, 3), k, generator(), where)
    same = _noise.sum_of_gamma(torch.empty(4), torch.tensor([2, 2, 5, 5]), generator())
    assert torch.equal(some[where], same)
    assert not some[~where].any()
