"""The k best rankings, one after the other.

Let the items be sorted by score, so that the best ranking is 1, 2, ..., n. Any ranking is given by
one choice per item, from the first item on: item i takes the m-th smallest of the ranks that are
left, counted from 0, and m = 0 for all items gives the best. Rankings form a tree: in the parent,
the last m > 0 is one less. To raise the last m > 0 by one, or to set that of a later item to 1, is
to swap the ranks of two items i < j of the parent, and costs

    (score of item j - score of item i) * (rank of j - rank of i)  >=  0

The tree is searched best first, as by Lawler (1972), but a child takes O(1) and no oracle call.
"""

import heapq

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparsewood._internal.transforms import on_values

_Reals = NDArray[np.float64]
_Whole = NDArray[np.int64]


def k_rankings(scores: Tensor, lengths: Tensor | None, k: int) -> tuple[Tensor, Tensor]:
    """Rankings (T, n) by instance, best first, and how many, (B,), 0 with a score of -inf."""

    def search(scores: Tensor) -> tuple[Tensor, Tensor]:
        sizes = [scores.shape[1]] * len(scores) if lengths is None else lengths.tolist()
        found = [np.zeros((0, scores.shape[1]), dtype=np.int64)]
        for row, n in zip(scores.detach().cpu().numpy(), sizes, strict=True):
            here = _search(row[:n], k)
            found.append(np.pad(here, ((0, 0), (0, len(row) - n))))
        counts = torch.tensor([len(here) for here in found[1:]], dtype=torch.int64)
        return torch.from_numpy(np.concatenate(found)).to(scores.device), counts.to(scores.device)

    structures, counts = on_values(search, scores)
    return structures, counts


def _search(scores: _Reals, k: int) -> _Whole:
    """Up to k rankings of the items, best first."""
    n = len(scores)
    if np.isneginf(scores).any():
        return np.zeros((0, n), dtype=np.int64)
    order = np.argsort(scores, kind="stable")
    sorted_scores = scores[order]
    found: list[_Whole] = []
    # (cost, number, index of the parent, item, m); the number breaks ties.
    heap: list[tuple[float, int, int, int, int]] = [(0.0, 0, -1, -1, 0)]
    pushed = 1
    while heap and len(found) < k:
        cost, _, parent, item, m = heapq.heappop(heap)
        ranks = np.arange(1, n + 1) if parent < 0 else found[parent].copy()
        if item >= 0:
            ranks[[item, item + m]] = ranks[[item + m, item]]
        found.append(ranks)
        for extra, child, step in _children(sorted_scores, ranks, item, m, k - len(found)):
            heapq.heappush(heap, (cost + extra, pushed, len(found) - 1, child, step))
            pushed += 1
    table = np.empty((len(found), n), dtype=np.int64)
    table[:, order] = np.stack(found)
    return table


def _children(
    scores: _Reals, ranks: _Whole, item: int, m: int, most: int
) -> list[tuple[float, int, int]]:
    """The cheapest children of a ranking: their cost above it, the item and its m."""
    first = item + 1
    gains = np.diff(scores[first:]) * np.diff(ranks[first:])
    cheap = np.arange(len(gains))
    if most < len(gains):
        cheap = np.argpartition(gains, most)[:most] if most else cheap[:0]
    children = [(float(gains[i]), first + int(i), 1) for i in cheap]
    last = item + m + 1
    if item >= 0 and last < len(scores):
        gain = (scores[last] - scores[item]) * (ranks[last] - ranks[item])
        children.append((float(gain), item, m + 1))
    return children
