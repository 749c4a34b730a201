"""Structures and posteriors as something to look at."""

from sparsewood.draw.drawing import Drawing, Format, draw, show
from sparsewood.draw.text import posterior_text, tree_text

__all__ = ["Drawing", "Format", "draw", "posterior_text", "show", "tree_text"]
