"""Indices and one-hot vectors."""

import torch

from sparsewood.structures._one_hot import index_of, one_hot


def test_no_choice_is_all_zeros_and_back() -> None:
    index = torch.tensor([[2, -1], [0, 1]])
    parts = one_hot(index, 3)
    assert parts.dtype == torch.float64
    assert parts.tolist() == [[[0, 0, 1], [0, 0, 0]], [[1, 0, 0], [0, 1, 0]]]
    assert torch.equal(index_of(parts), index)


def test_an_index_beyond_the_parts_is_none_of_them() -> None:
    assert one_hot(torch.tensor([3]), 3).tolist() == [[0, 0, 0]]
