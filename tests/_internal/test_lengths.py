"""The default sizes of the instances of a batch."""

import torch

from sparsewood._internal.lengths import lengths_or_full


def test_none_is_the_full_length() -> None:
    table = torch.zeros(2, 5, 3)
    assert lengths_or_full(None, table).tolist() == [5, 5]
    given = lengths_or_full(torch.tensor([4, 1], dtype=torch.int32), table)
    assert given.tolist() == [4, 1]
    assert given.dtype == torch.int64
