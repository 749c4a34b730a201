"""The trees of a sentence as HTML: probability, bar and picture of each."""

from collections.abc import Sequence

from torch import Tensor

from sparsewood.draw._markup import element, escaped
from sparsewood.draw._trees import Drawable, agreement, percent
from sparsewood.draw.svg import tree_svg

_ROW = "display:flex;align-items:flex-end;gap:16px;margin:0 0 10px"
_SHARE = "flex:0 0 88px;padding-bottom:8px;font-size:13px;line-height:1.35"
_FULL = "height:4px;border-radius:2px;margin:3px 0;background:rgba(128,128,128,.25)"
_PART = "height:4px;border-radius:2px;background:currentColor;width:"
_SCROLL = "overflow-x:auto;flex:1 1 auto;min-width:0"

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font-family: system-ui, sans-serif; margin: 2rem; color: #1a1a1a; background: #fff }}
@media (prefers-color-scheme: dark) {{ body {{ color: #e8e8e8; background: #16181a }} }}
</style></head>
<body>
{content}
</body>
</html>
"""


def trees_html(drawable: Drawable, shown: int = 8, folded: int = 24) -> str:
    """A fragment of HTML with the trees of one sentence, the most probable first.

    Needs no style sheet. After the first `shown` trees, `folded` more are folded away; the rest is
    counted.
    """
    pairs = list(zip(drawable.trees, drawable.weights, strict=True))[: shown + folded]
    rows = [_row(heads, drawable, weight) for heads, weight in pairs]
    content = "".join(rows[:shown])
    if len(rows) > shown:
        title = element("summary", _more(drawable.weights[shown:]))
        rest = drawable.weights[shown + folded :]
        last = element("p", "and " + _more(rest)) if rest else ""
        content += element("details", title + "".join(rows[shown:]) + last)
    return element("div", content, class_="sparsewood-trees")


def _more(weights: Sequence[float]) -> str:
    return escaped(f"{len(weights)} more, together {percent(sum(weights))}")


def page_html(drawable: Drawable) -> str:
    """A page of its own with the trees of one sentence."""
    words = escaped(" ".join(drawable.words))
    return _PAGE.format(title=words, content=trees_html(drawable))


def table_html(weights: Sequence[float], structures: Tensor, shown: int = 20) -> str:
    """A table of structures of any family with their weights, heaviest first."""
    order = sorted(range(len(weights)), key=lambda t: -weights[t])
    lines = [
        element("tr", element("td", percent(weights[t])) + _code(structures[t].tolist()))
        for t in order[:shown]
    ]
    if len(order) > shown:
        rest = percent(sum(weights[t] for t in order[shown:]))
        more = element("td", f"{len(order) - shown} more structures")
        lines.append(element("tr", element("td", escaped(rest)) + more))
    head = element("tr", "<th>weight</th><th style='text-align:left'>structure</th>")
    return element("table", head + "".join(lines))


def _code(value: object) -> str:
    return element("td", element("code", escaped(str(value))), style="text-align:left")


def _row(heads: tuple[int, ...], drawable: Drawable, weight: float) -> str:
    width = 100 * min(weight, 1)
    bar = element("div", element("div", "", style=f"{_PART}{width:.1f}%"), style=_FULL)
    note = agreement(heads, drawable.given)
    share = (
        element("strong", escaped(percent(weight)))
        + bar
        + (element("small", escaped(note)) if note else "")
    )
    picture = tree_svg(heads, drawable.words, weight, drawable.given)
    return element(
        "div",
        element("div", share, style=_SHARE, class_="sparsewood-share")
        + element("div", picture, style=_SCROLL),
        style=_ROW,
        class_="sparsewood-row",
    )
