"""XML and HTML elements, escaping, and the approximate width of a text."""

import unicodedata
from html import escape

from sparsewood.draw._escape import printable
from sparsewood.draw._tables import TABLES

FONT: str = TABLES["font"]
_WIDTH_OF = {c: int(width) for width, line in TABLES["widths"].items() for c in line}  # in FONT


def element(name: str, content: str | None = None, /, **attributes: str | float | None) -> str:
    """An element with escaped attributes; `content` is markup.

    Underscores in attribute names become hyphens; a trailing one is dropped (`class_`). Attributes
    that are None are omitted.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is not None:
            text = number(value) if isinstance(value, float) else str(value)
            parts.append(f'{key.rstrip("_").replace("_", "-")}="{escaped(text)}"')
    opening = " ".join(parts)
    return f"<{opening}/>" if content is None else f"<{opening}>{content}</{name}>"


def escaped(text: str) -> str:
    """Escape text for XML and HTML, in content and in attributes."""
    return escape(printable(text))


def number(value: float) -> str:
    """A coordinate with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text_width(text: str, size: float) -> float:
    """The approximate width of an escaped text in `FONT` at a font size."""
    return size / 1000 * sum(_character_width(character) for character in printable(text))


def _character_width(character: str) -> int:
    if character in _WIDTH_OF:
        return _WIDTH_OF[character]
    if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
        return 0
    return 1000 if unicodedata.east_asian_width(character) in "WF" else 600
