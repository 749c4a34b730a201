"""The shapes that pictures are made of, the same for SVG and for LaTeX; y points down."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["plain", "agree", "differ", "faint"]
Point = tuple[float, float]

SIZE = 15.0  # of words
SMALL = 12.0  # of labels
MARGIN = 4.0
BELOW = 2 * MARGIN + 1 + SIZE  # from the foot of the shapes to the end of the row of words


@dataclass(frozen=True)
class Text:
    """One line of text, its middle at `x` and its baseline at `y`."""

    x: float
    y: float
    text: str
    size: float = SIZE
    kind: Kind = "plain"


@dataclass(frozen=True)
class Line:
    """A line through points, its corners rounded.

    Attributes:
        points: two or more.
        kind: agreeing and differing lines have colours.
        arrow: an arrowhead at the last point.
        dot: a dot at the first point.
        title: what it says when pointed at.
        share: of its ink: less is fainter.
    """

    points: tuple[Point, ...]
    kind: Kind = "plain"
    arrow: bool = False
    dot: bool = False
    title: str = ""
    share: float = 1.0


@dataclass(frozen=True)
class Box:
    """A rectangle with round corners, shaded or not; `x` and `y` are its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    kind: Kind = "plain"
    shaded: bool = False


class Panel(NamedTuple):
    """The shapes of one picture, all between (0, 0) and (width, height)."""

    shapes: list[Text | Line | Box]
    width: float
    height: float
