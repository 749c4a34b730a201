"""Pictures as SVG.

Lines and words have the colour of the surrounding text, for light and dark backgrounds. If a
structure is given to compare with, parts that agree are solid and blue, parts that differ are
dashed and orange; the classes `sparsewood-agree` and `sparsewood-differ` may be styled.
"""

from math import hypot

from sparsewood.draw._markup import FONT, element, escaped, number, text_width
from sparsewood.draw._shapes import MARGIN, SIZE, Box, Kind, Line, Panel, Point, Text
from sparsewood.draw._sheet import Picture, Sheet, percent
from sparsewood.draw._tables import TABLES
from sparsewood.status import Status

_GAP = 13.0  # between two pictures
_RADIUS = float(TABLES["radius"])
_ARROW = float(TABLES["arrow"])
_GUTTER = 104.0  # width of the column of weights
_ROW, _LOW = 50.0, 40.0  # minimum height of a row, with and without a note
_CAPTION = 26.0

# Blue and orange, distinguishable for colour-blind readers and readable on white and black.
COLOURS: dict[Kind, str] = TABLES["colours"]
_FAINT = float(TABLES["faint"])
_DARK = (
    ".sparsewood-alone{color:#1a1a1a}"
    "@media(prefers-color-scheme:dark){.sparsewood-alone{color:#e8e8e8}}"
)


def picture_svg(picture: Picture, weight: float | None = None) -> str:
    """One picture for use in a page; its description mentions `weight`."""
    panel = picture.panel()
    content = element("title", escaped(picture.description(weight))) + _shapes(panel)
    # A page may shrink a long sentence to 70 % before it scrolls.
    style = f"max-width:100%;min-width:{number(0.7 * panel.width)}px;height:auto"
    return _svg(content, panel.width, panel.height, "sparsewood-tree", style)


def picture_file(picture: Picture) -> str:
    """One picture as a complete file, with colours for light and dark backgrounds."""
    panel = picture.panel()
    told = element("title", escaped(picture.description())) + element("style", _DARK)
    return _svg(told + _shapes(panel), panel.width, panel.height, "sparsewood-alone")


def sheet_svg(sheet: Sheet) -> str:
    """All pictures in one column, with probabilities on the left and the certificate on top.

    A complete file, with colours for light and dark backgrounds.
    """
    about = f"{sheet.noun.capitalize()}s of: {sheet.title}"
    parts = [element("title", escaped(about)), element("style", _DARK)]
    width = y = 0.0
    if sheet.caption:
        kind: Kind = "plain" if sheet.status == Status.SOLVED else "differ"
        parts.append(_start(sheet.caption, 16, 13, kind))
        width, y = MARGIN + text_width(sheet.caption, 13), _CAPTION
    for picture, weight in zip(sheet.pictures, sheet.weights, strict=True):
        panel = picture.panel()
        row = max(panel.height, _ROW if picture.note else _LOW)
        at = f"translate({number(_GUTTER)} {number(y + row - panel.height)})"
        drawn = element("title", escaped(picture.description(weight))) + _shapes(panel)
        parts.append(element("g", drawn, transform=at))
        foot = 24 if picture.note or row >= _ROW else 8
        parts.append(_weight(y + row - foot, weight, picture.note))
        width, y = max(width, _GUTTER + panel.width), y + row + _GAP
    return _svg("".join(parts), max(width, 1) + MARGIN, max(y - _GAP, 1), "sparsewood-alone")


def _start(text: str, y: float, size: float, kind: Kind = "plain", **more: str | float) -> str:
    """Text that starts at the left margin."""
    return element(
        "text",
        escaped(text),
        x=MARGIN,
        y=y,
        font_family=FONT,
        font_size=size,
        fill=COLOURS[kind],
        **more,
    )


def _weight(y: float, weight: float, note: str) -> str:
    """A probability, its bar and the agreement, the last line at `y`."""
    full = _GUTTER - 2 * MARGIN - 8
    bar = {"x": MARGIN, "y": y - 7, "height": 4, "rx": 2, "fill": "currentColor"}
    parts = [
        _start(percent(weight), y - 13, SIZE, font_weight="bold"),
        element("rect", width=full, opacity=0.15, **bar),
        element("rect", width=full * min(weight, 1), **bar),
    ]
    if note:
        length = min(full, text_width(note, 11))
        parts.append(_start(note, y + 11, 11, textLength=length, lengthAdjust="spacingAndGlyphs"))
    return "".join(parts)


def _shapes(panel: Panel) -> str:
    """Lines and boxes, then texts on top, grouped by common properties."""
    lines = "".join(
        _line(shape) if isinstance(shape, Line) else _box(shape)
        for shape in panel.shapes
        if not isinstance(shape, Text)
    )
    texts = "".join(_text(shape) for shape in panel.shapes if isinstance(shape, Text))
    return element(
        "g",
        element("g", lines, fill="none", stroke_width=1.5)
        + element("g", texts, fill="currentColor", font_family=FONT, font_size=SIZE),
    )


def _text(shape: Text) -> str:
    if not shape.text:
        return ""
    return element(
        "text",
        escaped(shape.text),
        x=shape.x,
        y=shape.y,
        text_anchor="middle",
        font_size=None if shape.size == SIZE else shape.size,
        fill=None if COLOURS[shape.kind] == "currentColor" else COLOURS[shape.kind],
        opacity=_FAINT if shape.kind == "faint" else None,
        textLength=text_width(shape.text, shape.size) or None,
        lengthAdjust="spacingAndGlyphs",
    )


def _box(shape: Box) -> str:
    colour = COLOURS[shape.kind]
    return element(
        "rect",
        x=shape.x,
        y=shape.y,
        width=shape.width,
        height=shape.height,
        rx=4,
        stroke=colour,
        stroke_dasharray="5 3" if shape.kind == "differ" else None,
        opacity=_FAINT if shape.kind == "faint" else None,
        fill=colour if shape.shaded else None,
        fill_opacity=0.15 if shape.shaded else None,
    )


def _line(shape: Line) -> str:
    colour = COLOURS[shape.kind]
    points = list(shape.points)
    head = ""
    if shape.arrow:
        head = element("path", d=_arrowhead(*points[-2:]), fill=colour, stroke="none")
        points[-1] = _towards(points[-1], points[-2], _ARROW)
    x, y = points[0]
    shapes = [
        element("title", escaped(shape.title)) if shape.title else "",
        element(
            "path", d=_path(points), stroke_dasharray="5 3" if shape.kind == "differ" else None
        ),
        element("circle", cx=x, cy=y, r=3, fill=colour, stroke="none") if shape.dot else "",
        head,
    ]
    ink = shape.share * (_FAINT if shape.kind == "faint" else 1)
    class_ = f"sparsewood-{shape.kind}"
    opacity = None if ink == 1 else ink
    return element("g", "".join(shapes), class_=class_, stroke=colour, opacity=opacity)


def _path(points: list[Point]) -> str:
    """The commands of a line, with rounded corners."""
    path = f"M{number(points[0][0])} {number(points[0][1])}"
    at = points[0]
    for i in range(1, len(points) - 1):
        before, corner, after = points[i - 1 : i + 2]
        rest = _length(corner, after) / (1 if i == len(points) - 2 else 2)  # or half, if shared
        radius = min(_RADIUS, _length(at, corner), rest)
        (ax, ay), (bx, by) = _towards(corner, before, radius), _towards(corner, after, radius)
        path += _straight(at, (ax, ay))
        turn = (corner[0] - ax, corner[1] - ay, bx - ax, by - ay)
        path += "q" + " ".join(number(value) for value in turn)
        at = (bx, by)
    return path + _straight(at, points[-1])


def _straight(start: Point, end: Point) -> str:
    if start[0] == end[0]:
        return f"V{number(end[1])}"
    if start[1] == end[1]:
        return f"H{number(end[0])}"
    return f"L{number(end[0])} {number(end[1])}"


def _arrowhead(before: Point, tip: Point) -> str:
    base_x, base_y = _towards(tip, before, _ARROW)
    x, y = (tip[1] - base_y) / 2, (base_x - tip[0]) / 2  # from the middle of the base to its end
    corners = (tip, (base_x - x, base_y - y), (base_x + x, base_y + y))
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in corners) + "z"


def _towards(start: Point, end: Point, step: float) -> Point:
    """The point `step` away from `start` on the way to `end`."""
    share = step / (_length(start, end) or 1)
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def _length(start: Point, end: Point) -> float:
    return hypot(end[0] - start[0], end[1] - start[1])


def _svg(content: str, width: float, height: float, class_: str, style: str | None = None) -> str:
    return element(
        "svg",
        content,
        xmlns="http://www.w3.org/2000/svg",
        class_=class_,
        style=style,
        role="img",
        width=width,
        height=height,
        viewBox=f"0 0 {number(width)} {number(height)}",
    )
