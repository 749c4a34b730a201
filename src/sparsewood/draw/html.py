"""Pictures as HTML: the probability, a bar and the picture of each structure."""

from sparsewood.draw._markup import element, escaped
from sparsewood.draw._sheet import Picture, Sheet, more, percent
from sparsewood.draw.svg import COLOURS, picture_svg
from sparsewood.status import Status

_ROW = "display:flex;align-items:flex-end;gap:16px;margin:0 0 10px"
_SHARE = "flex:0 0 88px;padding-bottom:8px;font-size:13px;line-height:1.35"
_FULL = "height:4px;border-radius:2px;margin:3px 0;background:rgba(128,128,128,.25)"
_PART = "height:4px;border-radius:2px;background:currentColor;width:"
_CAPTION = "margin:0 0 8px;font-size:13px"
_SCROLL = "overflow-x:auto;flex:1 1 auto;min-width:0"

PAGE = """<!DOCTYPE html>
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


def trees_html(sheet: Sheet, shown: int = 8, folded: int = 24) -> str:
    """A fragment of HTML with the certificate and the pictures, the most probable first.

    Needs no style sheet. The first `shown` pictures are visible, `folded` more are collapsed, and
    the rest is only counted.
    """
    pairs = list(zip(sheet.pictures, sheet.weights, strict=True))[: shown + folded]
    rows = [_row(picture, weight) for picture, weight in pairs]
    content = _caption(sheet) + "".join(rows[:shown])
    rest = sheet.weights[shown + folded :]
    last = element("p", escaped(f"and {more(rest)}"), style=_CAPTION) if rest else ""
    if len(rows) > shown:
        title = element("summary", escaped(more(sheet.weights[shown:])))
        last = element("details", title + "".join(rows[shown:]) + last)
    content += last
    return element("div", content, class_="sparsewood-trees")


def _caption(sheet: Sheet) -> str:
    if not sheet.caption:
        return ""
    style = _CAPTION if sheet.status == Status.SOLVED else f"{_CAPTION};color:{COLOURS['differ']}"
    return element("p", escaped(sheet.caption), class_="sparsewood-certificate", style=style)


def page_html(sheet: Sheet) -> str:
    """A complete page with the pictures of one instance."""
    return PAGE.format(title=escaped(sheet.title), content=trees_html(sheet))


def _row(picture: Picture, weight: float) -> str:
    width = 100 * min(weight, 1)
    bar = element("div", element("div", "", style=f"{_PART}{width:.1f}%"), style=_FULL)
    note = element("small", escaped(picture.note)) if picture.note else ""
    share = element("strong", escaped(percent(weight))) + bar + note
    return element(
        "div",
        element("div", share, style=_SHARE, class_="sparsewood-share")
        + element("div", picture_svg(picture, weight), style=_SCROLL),
        style=_ROW,
        class_="sparsewood-row",
    )
