"""Line charts as SVG, for a page that defines the colours.

They are drawn here because a report is one file that works without a network, follows the light or
dark theme of the browser, and needs no plotting library: matplotlib and what it needs are 96 MB,
for the 300 lines here and in `_axes.py`.

The colours are CSS variables: `--series` on each series, by the class of its mark; `--ink`,
`--quiet` and `--rule` for text and axes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sparsewood.draw._markup import FONT, element, escaped, number, text_width
from sparsewood.lab.report._axes import (
    LogScale,
    Scale,
    log_ticks,
    short,
    span,
    spread_out,
    ticks,
    whole_ticks,
)
from sparsewood.lab.report._colours import Mark, marker

_WIDTH, _HEIGHT = 460.0, 260.0
_TOP, _RIGHT, _BOTTOM, _LEFT = 12.0, 92.0, 36.0, 46.0
_LABEL = 12.0  # font size
_LINE = _LABEL + 2  # least distance of two names
_BOLD = 1.3  # how much wider the bold names of lines may be, in wide fonts too


@dataclass(frozen=True)
class Series:
    """A line of a chart.

    Attributes:
        name: name of the line; lines with the same name share a label.
        mark: its colour and the marker of its points.
        points: x and y; points whose y is not finite are left out.
        marked: the x of points drawn larger.
        dashed: draw a dashed line without points, for comparison.
        note: distinguishes lines with the same name, for example by seed.
        band: x, least and greatest y of the values that the line is the mean of.
    """

    name: str
    mark: Mark
    points: Sequence[tuple[float, float]]
    marked: tuple[float, ...] = ()
    dashed: bool = False
    note: str = ""
    band: Sequence[tuple[float, float, float]] = ()

    @property
    def finite(self) -> list[tuple[float, float]]:
        return [(x, y) for x, y in self.points if math.isfinite(y)]


def figure(title: str, chart: str) -> str:
    """A chart with its title as a caption."""
    return element("figure", element("figcaption", escaped(title)) + chart)


def line_chart(
    series: Sequence[Series],
    title: str,
    x_label: str,
    *,
    x_names: Mapping[float, str] | None = None,
    zero: bool = False,
    unit: str = "",
    log: bool = False,
    shaded: tuple[float, float] | None = None,
) -> str:
    """A chart of lines over a common x axis, each labelled at its end.

    Args:
        series: the lines.
        title: title for screen readers.
        x_label: label of the x axis.
        x_names: labels by x. Default: whole numbers.
        zero: start the y axis at zero.
        unit: unit after the numbers of the y axis.
        log: a logarithmic x axis, with 1, 2, 5, 10, ... by default.
        shaded: range of x with a grey background.
    """
    drawn = [line for line in series if line.finite]
    xs = [*(x for line in drawn for x, _ in line.finite), *(shaded or ())]
    ys = [y for line in drawn for _, y in line.finite]
    ys += [y for line in drawn for _, *ends in line.band for y in ends]
    left, right = (min(xs), max(xs)) if xs else (0.0, 1.0)
    if log:
        left, right = left * 0.95, right * 1.05
    elif left == right:
        left, right = left - 0.5, right + 0.5
    low, high = span(ys, zero=zero)
    labels = {line.name for line in drawn}
    names = max((text_width(name, _LABEL) * _BOLD for name in labels), default=0.0)
    edge = _WIDTH - max(_RIGHT, names + 24)
    # Higher, if all names would not fit beside the lines.
    height = max(_HEIGHT, _TOP + _BOTTOM + _LINE * len({(line.name, line.mark) for line in drawn}))
    ground = height - _BOTTOM
    marks = {mark: short(mark) + unit for mark in ticks(low, high)}
    start = max(_LEFT, max((text_width(text, _LABEL) for text in marks.values()), default=0.0) + 10)
    to_x = (LogScale if log else Scale)(left, right, start + 6, edge)
    to_y = Scale(low, high, ground, _TOP)
    if x_names is None and log:
        x_names = {x: short(x) for x in log_ticks(left, right)}
    if x_names is None:
        x_names = {x: str(x) for x in whole_ticks(math.ceil(left), math.floor(right))}
    parts = [_ground(shaded, to_x, ground), _y_axis(marks, to_y, start, edge)]
    parts.append(_x_axis(x_names, to_x, x_label, ground))
    parts += [_band(line, to_x, to_y) for line in drawn]
    parts += [_line(line, to_x, to_y, unit) for line in drawn]
    parts.append(_end_labels(drawn, to_x, to_y))
    return _chart(title, "".join(parts), _WIDTH, height)


def _ground(shaded: tuple[float, float] | None, to_x: Scale, ground: float) -> str:
    if shaded is None:
        return ""
    left, right = map(to_x, shaded)
    size = {"width": right - left, "height": ground - _TOP}
    return element("rect", x=left, y=_TOP, **size, class_="ground")


def _band(line: Series, to_x: Scale, to_y: Scale) -> str:
    if not line.band:
        return ""
    upper = [f"{number(to_x(x))} {number(to_y(high))}" for x, _, high in line.band]
    lower = [f"{number(to_x(x))} {number(to_y(low))}" for x, low, _ in reversed(line.band)]
    path = element("path", d=f"M{'L'.join([*upper, *lower])}Z", class_="band")
    return element("g", path, class_=line.mark.style)


def _line(line: Series, to_x: Scale, to_y: Scale, unit: str) -> str:
    places = [f"{number(to_x(x))} {number(to_y(y))}" for x, y in line.finite]
    if line.dashed:  # a constant line extends to the edge
        places.append(f"{number(to_x.end)} {number(to_y(line.finite[-1][1]))}")
    name = f"{line.name}{f' ({line.note})' if line.note else ''}"
    path = element("path", d="M" + "L".join(places), class_="dashed" if line.dashed else "line")
    parts = [element("title", escaped(name)), path]
    for x, y in [] if line.dashed else line.finite:
        tip = element("title", escaped(f"{name}, {short(x)}: {short(y)}{unit}"))
        kind = "best" if x in line.marked else "point"
        radius = 4.5 if kind == "best" else 2.8
        parts.append(marker(line.mark, to_x(x), to_y(y), radius, tip, kind))
    return element("g", "".join(parts), class_=line.mark.style)


def _end_labels(lines: Sequence[Series], to_x: Scale, to_y: Scale) -> str:
    """The names at the right edge, each at the mean height of the ends of its lines."""
    ends: dict[tuple[str, Mark], list[float]] = {}
    for line in lines:
        ends.setdefault((line.name, line.mark), []).append(to_y(line.finite[-1][1]))
    wanted = [sum(heights) / len(heights) for heights in ends.values()]
    places = spread_out(wanted, _LINE, to_y.end + 4, to_y.start)
    x = to_x.end + 12
    parts = []
    for (name, mark), y in zip(ends, places, strict=True):
        label = marker(mark, x, y, 4.0, style="best") + _text(name, x + 8, y + 4, "start", "name")
        parts.append(element("g", label, class_=mark.style))
    return "".join(parts)


def _y_axis(marks: Mapping[float, str], to_y: Scale, start: float, edge: float) -> str:
    parts = []
    for mark, text in marks.items():
        y = to_y(mark)
        path = f"M{number(start)} {number(y)}H{number(edge + 4)}"
        parts.append(element("path", d=path, class_="rule"))
        parts.append(_text(text, start - 6, y + 4, "end"))
    return "".join(parts)


def _x_axis(names: Mapping[float, str], to_x: Scale, label: str, ground: float) -> str:
    marks = "".join(f"M{number(to_x(x))} {number(ground)}v4" for x in names)
    line = f"M{number(to_x.start - 6)} {number(ground)}H{number(to_x.end + 4)}"
    parts = [element("path", d=line + marks, class_="axis")]
    for x, name in names.items():
        parts.append(_text(name, to_x(x), ground + 16, "middle"))
    parts.append(_text(label, (to_x.start + to_x.end) / 2, ground + _BOTTOM - 4, "middle"))
    return "".join(parts)


def _text(text: str, x: float, y: float, anchor: str, style: str = "quiet") -> str:
    return element(
        "text", escaped(text), x=x, y=y, text_anchor=anchor, font_size=_LABEL, class_=style
    )


def _chart(title: str, content: str, width: float, height: float) -> str:
    return element(
        "svg",
        element("title", escaped(title)) + content,
        font_family=FONT,
        xmlns="http://www.w3.org/2000/svg",
        class_="chart",
        role="img",
        viewBox=f"0 0 {number(width)} {number(height)}",
    )
