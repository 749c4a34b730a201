"""Replacement of characters that must not reach a terminal, a page or a file."""

_JOINERS = "\u200c\u200d"  # not printable, but part of Persian and Indic spelling


def printable(text: str) -> str:
    """The text with each unprintable character replaced by a dot.

    Unprintable are control characters (executed by terminals, forbidden in XML), lone surrogates
    (invalid in UTF-8), marks of writing direction, line separators and unassigned code points.
    """
    return "".join(c if c.isprintable() or c in _JOINERS else "·" for c in text)
