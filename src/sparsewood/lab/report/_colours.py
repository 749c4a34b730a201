"""Colours and markers of estimators, the same in every report.

The seven hues differ for readers with any colour vision, and have a contrast of at least 3 with the
page, in light and in dark. More estimators share a hue and differ by their marker.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from zlib import crc32

from sparsewood.draw._markup import element, number
from sparsewood.lab.study.rows import short
from sparsewood.lab.tasks.task import PLUS

# name -> its colour on light and on dark pages
HUES = {
    "blue": ("#0072b2", "#2c90ff"),
    "orange": ("#d55e00", "#f9a661"),
    "green": ("#449f87", "#92faca"),
    "plum": ("#62016b", "#b17bb2"),
    "gold": ("#5f4f00", "#f4de16"),
    "wine": ("#b6245f", "#f85964"),
    "slate": ("#202429", "#adbac7"),
}
# name -> the corners of its outline in units of its radius; none for a circle
MARKERS: dict[str, tuple[tuple[float, float], ...]] = {
    "circle": (),
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "triangle": ((0, -1.15), (1.1, 0.85), (-1.1, 0.85)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "wedge": ((0, 1.15), (1.1, -0.85), (-1.1, -0.85)),
}


@dataclass(frozen=True)
class Mark:
    """How the lines of an estimator look.

    Attributes:
        hue: a key of `HUES`.
        marker: a key of `MARKERS`.
    """

    hue: str
    marker: str = "circle"

    @property
    def style(self) -> str:
        """The CSS class that sets `--series`."""
        return f"hue-{self.hue}"


_ALL = [Mark(hue, marker) for marker, hue in product(MARKERS, HUES)]
_OWN = {
    "sparsemap": Mark("blue"),
    "flat": Mark("orange"),
    "given": Mark("green"),
    "left-to-right": Mark("plum"),
    "lstm": Mark("gold"),
    "transformer": Mark("wine"),
    "mean": Mark("slate"),
    "top-k": Mark("plum", "square"),
    "sum-and-sample": Mark("wine", "square"),
    "score-function": Mark("gold", "square"),
    "straight-through": Mark("orange", "square"),
    "spigot": Mark("green", "square"),
    "imle": Mark("blue", "square"),
    "perturbed": Mark("slate", "square"),
    "aimle": Mark("gold", "triangle"),
    "blackbox": Mark("wine", "triangle"),
    "relaxed": Mark("green", "triangle"),
    "gibbs": Mark("plum", "triangle"),
    "map": Mark("slate", "triangle"),
    "chart": Mark("orange", "triangle"),
    "bow": Mark("blue", "triangle"),
    "crf": Mark("green", "diamond"),
    "hinge": Mark("orange", "diamond"),
}


def mark_of(estimator: str) -> Mark:
    """The mark of the name, whatever its options; of an unknown name by its hash."""
    name = short(estimator).partition(PLUS)[0]
    return _OWN.get(name) or _ALL[crc32(name.encode()) % len(_ALL)]


def marks_of(estimators: Iterable[str]) -> dict[str, Mark]:
    """A mark for each row of a page, distinct as long as there are any left.

    The plainest row of each name has the mark of that name. Further rows of it have its hue and
    other markers, and other hues once there are no more markers.
    """
    rows = sorted(dict.fromkeys(estimators), key=lambda row: (row.count(PLUS), row))
    found: dict[str, Mark] = {}
    further: list[str] = []
    for row in rows:
        if mark_of(row) in found.values():
            further.append(row)
        else:
            found[row] = mark_of(row)
    for row in further:
        own, taken = mark_of(row), set(found.values())
        start = crc32(row.encode()) % len(_ALL)
        others = [Mark(own.hue, marker) for marker in MARKERS] + _ALL[start:] + _ALL[:start]
        found[row] = next((mark for mark in others if mark not in taken), own)
    return found


def marker(mark: Mark, x: float, y: float, radius: float, tip: str = "", style: str = "") -> str:
    """The marker as an SVG element with its centre at (x, y).

    Args:
        tip: markup of a child, such as a title.
        style: its CSS class.
    """
    if not (corners := MARKERS[mark.marker]):
        return element("circle", tip, cx=x, cy=y, r=radius, class_=style)
    points = " ".join(f"{number(x + radius * dx)},{number(y + radius * dy)}" for dx, dy in corners)
    return element("polygon", tip, points=points, class_=style)


def chip(mark: Mark) -> str:
    """The marker beside a name in a table."""
    drawn = marker(mark, 0.0, 0.0, 5.0, style="best")
    return element("svg", drawn, class_="chip", viewBox="-7 -7 14 14", aria_hidden="true")


def css() -> str:
    """The style sheet of the hues, for light and dark pages."""

    def variables(theme: int) -> str:
        return "".join(f"--hue-{hue}:{colours[theme]};" for hue, colours in HUES.items())

    classes = "".join(f".hue-{hue}{{--series:var(--hue-{hue})}}" for hue in HUES)
    dark = f"@media(prefers-color-scheme:dark){{:root{{{variables(1)}}}}}"
    return f":root{{{variables(0)}}}{dark}{classes}"
