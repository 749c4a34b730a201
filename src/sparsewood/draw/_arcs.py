"""Layout of the arcs of a tree: a level per arc, and a position on the word per leg."""

from collections.abc import Sequence
from dataclasses import dataclass

_STEP = 7.0  # preferred distance between two legs


@dataclass
class Arc:
    """An arc between two words, counted from 0, and its layout.

    Attributes:
        head, dependent: the words.
        level: height above the words, from 1.
        start, end: x of the legs on the head and on the dependent.
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
    """The arcs between words, short arcs lowest; arcs that overlap have different levels."""
    arcs = [Arc(head - 1, word) for word, head in enumerate(heads) if head > 0]
    tallest = [0] * len(heads)  # highest level over the gap to the right of each word
    for arc in sorted(arcs, key=lambda arc: (arc.right - arc.left, arc.left)):
        gaps = slice(arc.left, arc.right)
        arc.level = 1 + max(tallest[gaps])
        tallest[gaps] = [arc.level] * (arc.right - arc.left)
    return arcs


def place_legs(
    arcs: Sequence[Arc], roots: Sequence[int], centers: Sequence[float], rooms: Sequence[float]
) -> list[float]:
    """Set the x of the legs of each arc, and return the x of the arrows from the root.

    The legs on a word are, from left to right: arcs to its left, low arcs first; the arrow from the
    root; arcs to its right, high arcs first. So arcs cross in the picture only if they cross in the
    tree.

    Args:
        arcs: the arcs with their levels.
        roots: the words whose head is the root.
        centers: the middle of each word.
        rooms: the maximum distance of the outermost legs of each word.
    """
    legs: list[list[tuple[float, Arc | None]]] = [[] for _ in centers]
    for word in roots:
        legs[word].append((0, None))
    for arc in arcs:
        legs[arc.left].append((1 / arc.level, arc))
        legs[arc.right].append((-1 / arc.level, arc))
    places = []
    for word, standing in enumerate(legs):
        # High arcs are nearest the middle, so their keys are closest to 0.
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
