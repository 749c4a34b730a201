"""The shapes of pictures, shared by SVG and LaTeX; y points down."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from sparsewood.draw._tables import TABLES

Kind = Literal["plain", "agree", "differ", "faint"]
Point = tuple[float, float]

SIZE = float(TABLES["size"])  # of words
SMALL = float(TABLES["small"])  # of labels
MARGIN = float(TABLES["margin"])
BELOW = 2 * MARGIN + 1 + SIZE  # from the bottom of the shapes to the bottom of the words


@dataclass(frozen=True)
class Text:
    """One line of text, centred at `x` with its baseline at `y`."""

    x: float
    y: float
    text: str
    size: float = SIZE
    kind: Kind = "plain"


@dataclass(frozen=True)
class Line:
    """A line through points, with rounded corners.

    Attributes:
        points: two or more.
        kind: lines that agree or differ are coloured.
        arrow: draw an arrowhead at the last point.
        dot: draw a dot at the first point.
        title: tooltip.
        share: opacity.
    """

    points: tuple[Point, ...]
    kind: Kind = "plain"
    arrow: bool = False
    dot: bool = False
    title: str = ""
    share: float = 1.0


@dataclass(frozen=True)
class Box:
    """A rectangle with rounded corners, optionally shaded; (`x`, `y`) is the upper left corner."""

    x: float
    y: float
    width: float
    height: float
    kind: Kind = "plain"
    shaded: bool = False


class Panel(NamedTuple):
    """The shapes of one picture, within (0, 0) and (width, height)."""

    shapes: list[Text | Line | Box]
    width: float
    height: float
