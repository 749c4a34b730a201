"""Running out of memory is told as what it is."""

import pytest
import torch

from sparsewood.lab._memory import of_sentences, told_if_out_of_memory


def test_what_was_too_large_is_told() -> None:
    with (
        pytest.raises(ValueError, match="^out of memory: a sentence with 9,000 words .memory"),
        told_if_out_of_memory(lambda: of_sentences(1, 9000)),
    ):
        torch.empty(2**46)
    with (
        pytest.raises(ValueError, match="out of memory: 8 sentences, the longest with 40 words"),
        told_if_out_of_memory(lambda: of_sentences(8, 40)),
    ):
        raise MemoryError


def test_other_errors_pass() -> None:
    with pytest.raises(RuntimeError, match="size"), told_if_out_of_memory(lambda: "no"):
        torch.zeros(2).add(torch.zeros(3))
