"""How files of rows are read: their encoding, what parts their columns, what a bad row means."""

import codecs
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from sparsewood.lab.data.examples import TargetKind

LONG = 400  # words of a row from which on it is worth a warning
TOO_LONG = 50_000  # words, whose arcs have 10 GB of scores: a file without ends of lines, say
_NAMED = {"tab": "\t", r"\t": "\t", "space": " "}  # delimiters that are hard to type
_LISTED = 20  # of the rows that are named in a warning


class BadRow(ValueError):  # noqa: N818 (what the row is)
    """A row of a file that cannot be read; the message begins with `path:line`."""


@dataclass(frozen=True)
class ReadOptions:
    """How a file of rows is read.

    Attributes:
        encoding: of the text.
        delimiter: between columns, one character, "tab" or "space"; None for a comma in `.csv`,
            else a tab.
        skip_bad: pass over bad rows; otherwise the first one is an error.
        target: what labels are: a class, a number, or any number of labels.
        label_separator: between several labels.
        skipped: what is wrong with those passed over so far.
    """

    encoding: str = "utf-8"
    delimiter: str | None = None
    skip_bad: bool = False
    target: TargetKind = "class"
    label_separator: str = "|"
    skipped: list[str] = field(default_factory=list, compare=False)

    def __post_init__(self) -> None:
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise ValueError(f"encoding: there is none named {self.encoding!r}") from None
        if self.delimiter in _NAMED:
            object.__setattr__(self, "delimiter", _NAMED[self.delimiter])
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(f"delimiter: expected one character, got {self.delimiter!r}")
        if not self.label_separator.strip() and self.label_separator != " ":
            raise ValueError(f"label_separator: expected characters, got {self.label_separator!r}")

    @property
    def splits_bytes(self) -> bool:
        """Whether lines end at a line feed before they are decoded."""
        return "\n a".encode(self.encoding).endswith(b"\n a")

    @contextmanager
    def row(self) -> Iterator[None]:
        """Within it one row is read; a bad one is passed over or raised."""
        try:
            yield
        except BadRow as bad:
            if not self.skip_bad:
                raise
            self.skipped.append(str(bad))

    def tell_skipped(self, name: str, kept: int) -> None:
        """Warn of the rows of a file that were passed over, `kept` others having been read."""
        if not self.skipped:
            return
        rows = len(self.skipped) + kept
        told = listed(self.skipped)
        warnings.warn(f"{name}: {len(self.skipped)} of {rows} rows skipped: {told}", stacklevel=3)


STRICT = ReadOptions()


def listed(entries: list[str]) -> str:
    """The first entries, and how many more there are."""
    more = f"; and {len(entries) - _LISTED:,} more" if len(entries) > _LISTED else ""
    return "; ".join(entries[:_LISTED]) + more


_LONG_ROWS: ContextVar[list[tuple[str, int]] | None] = ContextVar("long_rows", default=None)


@contextmanager
def long_rows() -> Iterator[list[tuple[str, int]]]:
    """Collects the place, `path:line`, and the number of words of rows that are long."""
    found: list[tuple[str, int]] = []
    token = _LONG_ROWS.set(found)
    try:
        yield found
    finally:
        _LONG_ROWS.reset(token)


def note_length(words: int, place: str) -> None:
    """A row of so many words was read."""
    found = _LONG_ROWS.get()
    if found is not None and words > LONG:
        found.append((place, words))
