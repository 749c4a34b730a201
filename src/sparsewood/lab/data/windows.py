"""Sentences as windows of sub-words for a pretrained encoder."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy
import torch
from torch import Tensor


class Window(NamedTuple):
    """Sub-words of a sentence that are read together, including special ones.

    Attributes:
        subwords: integers of the sub-words.
        owners: the word of each, counted from 0; -1 for special sub-words and context.
    """

    subwords: list[int]
    owners: list[int]


Splitter = Callable[[Sequence[str]], list[Window]]
"""The words of a sentence -> its windows, which together cover every word."""


def subwords_in(windows: Sequence[Window]) -> int:
    """The sub-words of all windows of a sentence."""
    return sum(len(window.subwords) for window in windows)


def padded_windows(sentences: Sequence[Sequence[Window]], n: int) -> tuple[Tensor, Tensor]:
    """The windows of all sentences as two tables.

    Args:
        sentences: the windows of each of B sentences.
        n: words of a sentence, including padding.

    Returns:
        Sub-words (R, p) int64, -1 beyond the end of a window, and their owners (R, p) int64: b * n
        + i for word i of sentence b, -1 for none.
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
