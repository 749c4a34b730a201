"""Sentences as the sub-words of a pretrained encoder, in windows that it can read."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy
import torch
from torch import Tensor


class Window(NamedTuple):
    """Sub-words of a sentence that are read together, special ones included.

    Attributes:
        subwords: their integers.
        owners: the word of each, counted from 0; -1 where it is read for the sake of others alone.
    """

    subwords: list[int]
    owners: list[int]


Splitter = Callable[[Sequence[str]], list[Window]]
"""The words of a sentence -> its windows, among whose owners is every word."""


def padded_windows(sentences: Sequence[Sequence[Window]], n: int) -> tuple[Tensor, Tensor]:
    """The windows of all sentences as two tables.

    Args:
        sentences: the windows of each of B sentences.
        n: words of a sentence, padding included.

    Returns:
        Sub-words (R, p) int64, -1 beyond the end of a window, and their owners (R, p) int64: word i
        of sentence b is b * n + i, and -1 is none.
    """
    windows = [(b, window) for b, windows in enumerate(sentences) for window in windows]
    longest = max(len(window.subwords) for _, window in windows)
    subwords = numpy.full((len(windows), longest), -1, numpy.int64)
    owners = numpy.full_like(subwords, -1)
    for row, (b, window) in enumerate(windows):
        size = len(window.subwords)
        own = numpy.array(window.owners, numpy.int64)
        subwords[row, :size] = window.subwords
        owners[row, :size] = numpy.where(own < 0, -1, own + b * n)
    return torch.from_numpy(subwords), torch.from_numpy(owners)
