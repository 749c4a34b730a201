"""Drawings of structures and posteriors: `sp.draw(post)` draws one."""

import sys

from sparsewood.draw._bundle import live_assets
from sparsewood.draw._module import DrawModule
from sparsewood.draw.drawing import Drawing, Format, draw, show
from sparsewood.draw.drawings import Drawings
from sparsewood.draw.live_figure import Live, live
from sparsewood.draw.text import posterior_text, tree_text

__all__ = [
    "Drawing",
    "Drawings",
    "Format",
    "Live",
    "draw",
    "live",
    "live_assets",
    "posterior_text",
    "show",
    "tree_text",
]

sys.modules[__name__].__class__ = DrawModule
