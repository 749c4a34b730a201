"""Windows of sub-words as tables."""

import torch

from sparsewood.lab.data.windows import Window, padded_windows


def test_owners_count_the_words_of_all_sentences() -> None:
    long = [Window([7, 1, 2], [-1, 0, 0]), Window([7, 2], [-1, 1])]
    subwords, owners = padded_windows([[Window([7, 3], [-1, 0])], long], 4)
    assert subwords.tolist() == [[7, 3, -1], [7, 1, 2], [7, 2, -1]]
    assert owners.tolist() == [[-1, 0, -1], [-1, 4, 4], [-1, 5, -1]]
    assert subwords.dtype == owners.dtype == torch.int64
