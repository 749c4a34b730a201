"""Structures and posteriors as something to look at."""

from sparsewood.draw._bundle import live_assets
from sparsewood.draw.drawing import Drawing, Format, draw, show
from sparsewood.draw.live_figure import Live, live
from sparsewood.draw.text import posterior_text, tree_text

__all__ = [
    "Drawing",
    "Format",
    "Live",
    "draw",
    "live",
    "live_assets",
    "posterior_text",
    "show",
    "tree_text",
]
