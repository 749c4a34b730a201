"""Dependency trees as SVG: the sentence below, the arcs above it.

Each arc goes from the head to an arrowhead on the dependent; the arrow from a dot at the top is the
root's. Where heads are given to compare with, arcs that agree are solid and blue, arcs that differ
are dashed and orange. Words and plain arcs have the colour of the surrounding text, so a picture
serves on light and on dark ground; the classes `sparsewood-agree` and `sparsewood-differ` may be
styled.
"""

from collections.abc import Sequence

from sparsewood.draw._arcs import Arc, place_legs, stacked_arcs
from sparsewood.draw._markup import FONT, element, escaped, number, text_width
from sparsewood.draw._trees import Drawable, Heads, agreement, checked_heads, percent, printable

_SIZE = 15.0  # of the words
_GAP = 13.0  # between two words
_CELL = 18.0  # a word is given at least this width
_FIRST, _STEP, _LEAST = 21.0, 14.0, 3.5  # height of the lowest arc, from one to the next
_HIGH = 130.0  # arcs that would go higher come closer together
_ROOT = 15.0  # from the highest arc to the dot of the root
_RADIUS = 9.0
_MARGIN = 4.0
_ARROW = 6.5
_GUTTER = 104.0  # for the weights

# Blue and orange that people tell apart, readable on white and on black.
_COLOURS = {"plain": "currentColor", "agree": "#2a7fc9", "differ": "#d5601c"}
_DARK = (
    ".sparsewood-alone{color:#1a1a1a}"
    "@media(prefers-color-scheme:dark){.sparsewood-alone{color:#e8e8e8}}"
)


class _Panel:
    """One tree as SVG elements, its size known."""

    def __init__(
        self, heads: Sequence[int], words: Sequence[str], given: Sequence[int] | None
    ) -> None:
        self.words = [printable(word) for word in words]
        self.heads, self.given = heads, given
        self.arcs = stacked_arcs(heads)
        self.roots = [word for word, head in enumerate(heads) if head == 0]
        self.centers, self.width = self._columns()
        rooms = [max(_CELL, text_width(word, _SIZE)) - 2 for word in self.words]
        self.root_places = place_legs(self.arcs, self.roots, self.centers, rooms)
        levels = max((arc.level for arc in self.arcs), default=0)
        self.step = max(_LEAST, min(_STEP, _HIGH / max(1, levels)))
        highest = _FIRST + self.step * (levels - 1) if levels else _FIRST - _ROOT
        self.ground = _MARGIN + 3 + _ROOT + highest  # where arrowheads end
        self.height = self.ground + _SIZE + 2 * _MARGIN + 1

    def _columns(self) -> tuple[list[float], float]:
        """The middle of each word, and the width of the drawing."""
        centers: list[float] = []
        edge = _MARGIN
        for word in self.words:
            cell = max(_CELL, text_width(word, _SIZE))
            centers.append(edge + cell / 2)
            edge += cell + _GAP
        return centers, edge - _GAP + _MARGIN if centers else 2 * _MARGIN

    def elements(self) -> list[str]:
        arcs = [self._arc(arc) for arc in sorted(self.arcs, key=lambda arc: -arc.level)]
        roots = [self._root(word, x) for word, x in zip(self.roots, self.root_places, strict=True)]
        return [*roots, *arcs, *(self._word(i) for i in range(len(self.words)))]

    def _word(self, i: int) -> str:
        word = self.words[i]
        if not word:
            return ""
        return element(
            "text",
            escaped(word),
            x=self.centers[i],
            y=self.ground + _SIZE + 1,
            text_anchor="middle",
            textLength=text_width(word, _SIZE) or None,
            lengthAdjust="spacingAndGlyphs",
        )

    def _arc(self, arc: Arc) -> str:
        top = self.ground - _FIRST - self.step * (arc.level - 1)
        side = 1 if arc.end > arc.start else -1
        radius = min(_RADIUS, abs(arc.end - arc.start) / 2)
        path = (
            f"M{number(arc.start)} {number(self.ground)}V{number(top + radius)}"
            f"q0 {number(-radius)} {number(side * radius)} {number(-radius)}"
            f"H{number(arc.end - side * radius)}"
            f"q{number(side * radius)} 0 {number(side * radius)} {number(radius)}"
            f"V{number(self.ground - _ARROW)}"
        )
        title = f"{self.words[arc.head]} → {self.words[arc.dependent]}"
        return self._line(arc.dependent, arc.end, path, title)

    def _root(self, word: int, x: float) -> str:
        top = _MARGIN + 3
        path = f"M{number(x)} {number(top)}V{number(self.ground - _ARROW)}"
        dot = element("circle", cx=x, cy=top, r=3, fill=_COLOURS[self._kind(word)], stroke="none")
        return self._line(word, x, path, f"root → {self.words[word]}", dot)

    def _line(self, word: int, x: float, path: str, title: str, more: str = "") -> str:
        kind = self._kind(word)
        colour = _COLOURS[kind]
        half, tip = _ARROW / 2, number(self.ground)
        arrow = f"M{number(x)} {tip}l{-half} {-_ARROW}h{_ARROW}z"
        shapes = [
            element("title", escaped(title)),
            element("path", d=path, stroke_dasharray="5 3" if kind == "differ" else None),
            more,
            element("path", d=arrow, fill=colour, stroke="none"),
        ]
        return element("g", "".join(shapes), class_=f"sparsewood-{kind}", stroke=colour)

    def _kind(self, word: int) -> str:
        if self.given is None:
            return "plain"
        return "agree" if self.heads[word] == self.given[word] else "differ"

    def description(self, weight: float | None) -> str:
        arcs = ", ".join(
            f"{'root' if head == 0 else self.words[head - 1]} → {word}"
            for word, head in zip(self.words, self.heads, strict=True)
        )
        share = "" if weight is None else f" with probability {percent(weight)}"
        return f"Dependency tree{share}: {arcs}"


def tree_svg(
    heads: Heads, words: Sequence[str], weight: float | None = None, given: Heads | None = None
) -> str:
    """Draws one dependency tree, for use inside a page.

    Args:
        heads: (n,) integers: the head of each word, 0 for the root, j for word j (counted from 1).
        words: the n words of the sentence.
        weight: the probability of the tree, for its description.
        given: (n,) heads to compare with.
    """
    arcs = checked_heads(heads, len(words), "tree_svg")
    wanted = None if given is None else checked_heads(given, len(words), "given heads")
    panel = _Panel(arcs, words, wanted)
    content = element("title", escaped(panel.description(weight))) + _group(panel.elements())
    # A page may shrink a long sentence somewhat before it has to scroll.
    style = f"max-width:100%;min-width:{number(0.7 * panel.width)}px;height:auto"
    return _svg(content, panel.width, panel.height, "sparsewood-tree", style)


def trees_svg(drawable: Drawable) -> str:
    """Draws the trees of one sentence one under another, their probabilities at the left.

    A file of its own: it brings its colours for light and dark ground with it.
    """
    parts = [
        element("title", escaped(f"Trees of: {' '.join(drawable.words)}")),
        element("style", _DARK),
    ]
    width = y = 0.0
    for heads, weight in zip(drawable.trees, drawable.weights, strict=True):
        panel = _Panel(heads, drawable.words, drawable.given)
        tree = element("title", escaped(panel.description(weight))) + _group(panel.elements())
        at = f"translate({number(_GUTTER)} {number(y)})"
        parts.append(element("g", tree, transform=at))
        parts.append(_weight(y + panel.ground, weight, agreement(heads, drawable.given)))
        width, y = max(width, panel.width), y + panel.height + _GAP
    return _svg("".join(parts), _GUTTER + width, max(y - _GAP, 1), "sparsewood-alone")


def _weight(y: float, weight: float, note: str) -> str:
    """A probability, its bar and the agreement, the last line at `y`."""
    full = _GUTTER - 2 * _MARGIN - 8
    bar = {"x": _MARGIN, "y": y - 7, "height": 4, "rx": 2, "fill": "currentColor"}
    return "".join(
        [
            element(
                "text",
                percent(weight),
                x=_MARGIN,
                y=y - 13,
                font_family=FONT,
                font_size=_SIZE,
                font_weight="bold",
                fill="currentColor",
            ),
            element("rect", width=full, opacity=0.15, **bar),
            element("rect", width=full * min(weight, 1), **bar),
            element(
                "text",
                escaped(note),
                x=_MARGIN,
                y=y + 11,
                font_family=FONT,
                font_size=11,
                fill="currentColor",
                textLength=min(full, text_width(note, 11)),
                lengthAdjust="spacingAndGlyphs",
            )
            if note
            else "",
        ]
    )


def _group(elements: Sequence[str]) -> str:
    """Lines and words with the properties they have in common."""
    return element(
        "g",
        element(
            "g", "".join(e for e in elements if e.startswith("<g")), fill="none", stroke_width=1.5
        )
        + element(
            "g",
            "".join(e for e in elements if e.startswith("<text")),
            fill="currentColor",
            font_family=FONT,
            font_size=_SIZE,
        ),
    )


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
