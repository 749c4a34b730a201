"""Horizontal layout of words."""

from collections.abc import Iterable, Sequence

from sparsewood.draw._shapes import MARGIN
from sparsewood.draw._tables import TABLES

GAP = float(TABLES["gap"])  # between two words


def centers_of(
    sizes: Sequence[float], apart: Iterable[tuple[int, int, float]] = (), gap: float = GAP
) -> tuple[list[float], float]:
    """The middle of each word, and the width of the row.

    Args:
        sizes: the width of each word.
        apart: (i, j, least) with i < j: minimum distance of the middles of words i and j.
        gap: distance between two words.
    """
    centers: list[float] = []
    edge = MARGIN
    for size in sizes:
        centers.append(edge + size / 2)
        edge += size + gap
    for i, j, least in apart:  # words only move right, so earlier constraints stay satisfied
        missing = max(0.0, least - (centers[j] - centers[i]))
        for word in range(i + 1, len(centers)):
            centers[word] += missing * min(1.0, (word - i) / (j - i))
    if not centers:
        return [], 2 * MARGIN
    return centers, centers[-1] + sizes[-1] / 2 + MARGIN
