"""The one rule for characters that must not reach a terminal, a page or a file."""

_JOINERS = "\u200c\u200d"  # without a picture, but part of Persian and Indic spelling


def printable(text: str) -> str:
    """The text with each character that has no picture replaced by a dot.

    Those are control characters (a terminal obeys them, XML forbids them), lone surrogates (UTF-8
    has none), marks that turn the direction of writing, line separators and unassigned numbers.
    """
    return "".join(c if c.isprintable() or c in _JOINERS else "·" for c in text)
