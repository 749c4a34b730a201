"""Helpers of `enumerate`."""

import pytest

import sparsewood as sp
from sparsewood.structures._listing import sequences


def test_sequences_are_listed_in_order() -> None:
    assert sequences((0, 1), 2).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert sequences(range(-1, 2), 1).tolist() == [[-1], [0], [1]]


def test_too_many_are_refused_and_counted() -> None:
    assert len(sp.LinearChain().enumerate(4, 11)) == 11**4
    with pytest.raises(ValueError, match="at most 20000 chains, there are 20736 of 12 states"):
        sp.LinearChain().enumerate(4, 12)
