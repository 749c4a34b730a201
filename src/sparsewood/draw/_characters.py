"""Text measured in terminal columns."""

import unicodedata
from collections.abc import Sequence

from sparsewood.draw._escape import printable

_WIDE = ("W", "F")  # of East Asian width: wide, full


def cell_len(text: str) -> int:
    """The width of the text in terminal columns."""
    return sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):  # combines with the one before
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1


def in_columns(text: str) -> str:
    """The text with joiners removed, so that every character has a known width."""
    return printable(text).replace("\u200d", "")


def centered(text: str, width: int, fill: str = " ") -> str:
    """The text centred in `width` columns; an odd column goes to its left."""
    left = max(0, width - cell_len(text)) // 2
    return padded(fill * left + text, width, fill)


def padded(text: str, width: int, fill: str = " ") -> str:
    """The text, padded on the right to `width` columns."""
    return text + fill * (width - cell_len(text))


def row_of(texts: Sequence[str], cells: Sequence[int], gap: int) -> str:
    """One text centred in each cell, with `gap` columns between cells."""
    return (" " * gap).join(centered(*pair) for pair in zip(texts, cells, strict=True))


def marks(agrees: Sequence[bool | None]) -> list[str]:
    """✓ where words agree, ✗ where they differ, empty where they are not compared."""
    return ["" if same is None else "✓" if same else "✗" for same in agrees]


class Canvas:
    """Rows of text; later writes overwrite earlier ones."""

    def __init__(self, height: int) -> None:
        self._rows: list[list[str]] = [[] for _ in range(height)]

    def put(self, row: int, column: int, text: str, *, centered: bool = False) -> None:
        """Write `text` from a column on, or centred on it. A wide character takes two columns."""
        if centered:
            column -= (cell_len(text) - 1) // 2
        cells = self._rows[row]
        cells += " " * (column + cell_len(text) - len(cells))
        for character in text:
            width = cell_len(character)
            if width == 0:  # combines with the one before
                cells[max(0, column - 1)] += character
                continue
            cells[column : column + width] = [character, *[""] * (width - 1)]
            column += width

    def rows(self) -> list[str]:
        """The rows, of equal width."""
        width = max(map(len, self._rows), default=0)
        return ["".join(row) + " " * (width - len(row)) for row in self._rows]
