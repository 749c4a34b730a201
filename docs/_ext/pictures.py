"""The pictures of the gallery: those shown by the cells of an example, and its card.

A cell shows the `Drawing` or live figure in its last line, and the matplotlib figures that it
leaves open. All are embedded in the page, in the colour of its text, for light and dark
backgrounds; the same picture is saved as an SVG file for the card.
"""

import dataclasses
import io
import re
from pathlib import Path
from textwrap import indent
from typing import Any

import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.util import logging

from sparsewood.draw import Drawing, Live

# The cards, in this order; examples that are not named here come last.
ORDER = (
    "attachment four_lines rationales latent_alignment segmenting few_labels sorting "
    "shortest_paths routing latent_program temperature_path tagging factor_graph custom_structure "
    "one_tree_at_a_time two_sentences scipy_oracle pictures"
).split()

_ON_CARD = (4, 3, 2)  # structures of a posterior: the first number that fits the height
_HIGH = 190
_INK = "#010203"  # stands for the colour of the text until a picture is written
_ALONE = "<style>svg{color:#1a1a1a}@media(prefers-color-scheme:dark){svg{color:#e8e8e8}}</style>"
_INKED = "text.color axes.labelcolor axes.edgecolor axes.titlecolor xtick.color ytick.color"
_STYLE: Any = {
    **dict.fromkeys(_INKED.split(), _INK),
    # Distinguishable colours, readable on white and on black.
    "axes.prop_cycle": cycler(color="#2a7fc9 #d5601c #3a9d5d #b0529e #b38a12 #7a6ccf".split()),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "legend.frameon": False,
    "savefig.transparent": True,
    "svg.hashsalt": "sparsewood",  # the same figure always gives the same file
}


def styled(_conf: dict[str, Any], _example: str) -> None:
    """Set the colours of figures to those of the page; called before each example."""
    plt.rcdefaults()
    plt.rcParams.update(_STYLE)


def scraped(_block: Any, example: dict[str, Any], _conf: dict[str, Any]) -> str:
    """Write the pictures of a cell and return them as reStructuredText; called after each cell."""
    found: list[tuple[str, str]] = []
    value = example["example_globals"].get("___")  # of the last line of this cell or an earlier one
    if value is not example.get("shown"):
        example["shown"] = value
        if isinstance(value, Drawing):
            found.append((value._repr_html_(), _card(value)))
        elif isinstance(value, Live):
            found.append((value.fragment(), _card(value.drawing)))
    for number in plt.get_fignums():
        svg = _svg(plt.figure(number))
        found.append((svg, re.sub(r"(<svg[^>]*>)", rf"\1{_ALONE}", svg, count=1)))
    plt.close("all")
    for _, card in found:
        Path(next(example["image_path_iterator"])).with_suffix(".svg").write_text(card)
    return "\n".join(_raw(html) for html, _ in found)


def _card(drawing: Drawing) -> str:
    """The most probable structures, as many as fit the height."""
    sheet = dataclasses.replace(drawing.sheet, status=None)
    svg = ""
    for count in _ON_CARD:
        pictures, weights = sheet.pictures[:count], sheet.weights[:count]
        svg = Drawing(dataclasses.replace(sheet, pictures=pictures, weights=weights)).to("svg")
        if float(re.findall(r' height="([\d.]+)"', svg)[0]) <= _HIGH:
            break
    return svg


def _svg(figure: Figure) -> str:
    """The figure as an element of a page."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
    name = ", ".join(title for title in titles if title) or "figure"
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{name}" class="plot" ', 1)


def _raw(html: str) -> str:
    return f".. raw:: html\n\n{indent(html, '    ')}\n"


class InOrder:
    """The key by which sphinx-gallery sorts the examples."""

    def __init__(self, _folder: str) -> None:
        pass

    def __call__(self, name: str) -> tuple[int, str]:
        stem = Path(name).stem
        return (ORDER.index(stem) if stem in ORDER else len(ORDER), stem)


def _check(app: Sphinx) -> None:
    """Warn about each example without a picture."""
    folder = Path(app.srcdir) / "gallery"
    for example in sorted(folder.glob("*.py")):
        if not (folder / "images" / "thumb" / f"sphx_glr_{example.stem}_thumb.svg").exists():
            logging.getLogger(__name__).warning("%s shows no picture", example.name)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", _check, priority=900)  # after the examples have been run
    return {"parallel_read_safe": True, "parallel_write_safe": True}
