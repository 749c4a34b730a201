"""Structures and posteriors as something to look at."""

from spinney.draw.text import posterior_text, tree_text

__all__ = ["posterior_text", "tree_text"]
