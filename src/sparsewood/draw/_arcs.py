"""Where the arcs of a tree go: a level for each, and a place on the word for each leg."""

from collections.abc import Sequence
from dataclasses import dataclass

_STEP = 7.0  # between two legs that have room


@dataclass
class Arc:
    """An arc between two words, counted from 0, and where it is drawn.

    Attributes:
        head, dependent: the words.
        level: height above the words, from 1.
        start, end: where the legs stand on the head and on the dependent.
    """

    head: int
    dependent: int
    level: int = 0
    start: float = 0.0
    end: float = 0.0

    @property
    def left(self) -> int:
        return min(self.head, self.dependent)

    @property
    def right(self) -> int:
        return max(self.head, self.dependent)


def stacked_arcs(heads: Sequence[int]) -> list[Arc]:
    """The arcs between words, short ones low; arcs above a common gap have different levels."""
    arcs = [Arc(head - 1, word) for word, head in enumerate(heads) if head > 0]
    tallest = [0] * len(heads)  # of the gap to the right of each word
    for arc in sorted(arcs, key=lambda arc: (arc.right - arc.left, arc.left)):
        gaps = slice(arc.left, arc.right)
        arc.level = 1 + max(tallest[gaps])
        tallest[gaps] = [arc.level] * (arc.right - arc.left)
    return arcs


def place_legs(
    arcs: Sequence[Arc], roots: Sequence[int], centers: Sequence[float], rooms: Sequence[float]
) -> list[float]:
    """Sets where the legs of each arc stand, and returns where the arrows from the root do.

    From left to right a word has the legs of the arcs to its left, low ones first, then the arrow
    from the root, then the arcs to its right, high ones first. So only arcs that cross in the tree
    cross in the picture.

    Args:
        arcs: with their levels.
        roots: the words that hang from the root.
        centers: the middle of each word.
        rooms: how far apart the outermost legs of each word may be.
    """
    legs: list[list[tuple[float, Arc | None]]] = [[] for _ in centers]
    for word in roots:
        legs[word].append((0, None))
    for arc in arcs:
        legs[arc.left].append((1 / arc.level, arc))
        legs[arc.right].append((-1 / arc.level, arc))
    places = []
    for word, standing in enumerate(legs):
        # High arcs are nearest the middle, so they are given the keys next to 0.
        standing.sort(key=lambda leg: leg[0])
        step = min(_STEP, rooms[word] / max(1, len(standing) - 1))
        for i, (_, arc) in enumerate(standing):
            x = centers[word] + step * (i - (len(standing) - 1) / 2)
            if arc is None:
                places.append(x)
            elif arc.head == word:
                arc.start = x
            else:
                arc.end = x
    return places
