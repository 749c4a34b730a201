"""Options of reading files of rows: encoding, delimiter, and handling of bad rows."""

import codecs
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from sparsewood.lab.data.examples import TargetKind

LONG = 400  # words of a row that cause a warning
TOO_LONG = 50_000  # words whose arc scores take 10 GB; the file may lack line ends
_NAMED = {"tab": "\t", r"\t": "\t", "space": " "}  # names of delimiters that are hard to type
_LISTED = 20  # maximum rows listed in a warning


class BadRow(ValueError):  # noqa: N818 (describes the row)
    """A row of a file that cannot be read; the message begins with `path:line`."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file of rows.

    Attributes:
        encoding: text encoding.
        delimiter: column delimiter: one character, "tab" or "space"; None for a comma in `.csv`,
            otherwise a tab.
        skip_bad: skip bad rows; otherwise the first one is an error.
        target: kind of labels: a class, a number, or any number of labels.
        label_separator: separator between labels.
        skipped: the errors of rows skipped so far.
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
            raise ValueError(f"encoding: unknown encoding {self.encoding!r}") from None
        if self.delimiter in _NAMED:
            object.__setattr__(self, "delimiter", _NAMED[self.delimiter])
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(f"delimiter: expected one character, got {self.delimiter!r}")
        if not self.label_separator.strip() and self.label_separator != " ":
            raise ValueError(f"label_separator: expected characters, got {self.label_separator!r}")

    @property
    def splits_bytes(self) -> bool:
        """Whether lines can be split before they are decoded."""
        return "\n a".encode(self.encoding).endswith(b"\n a")

    @contextmanager
    def row(self) -> Iterator[None]:
        """The context of reading a row; skips or raises BadRow."""
        try:
            yield
        except BadRow as bad:
            if not self.skip_bad:
                raise
            self.skipped.append(str(bad))

    def tell_skipped(self, name: str, kept: int) -> None:
        """Warn about the skipped rows of a file; `kept` is the number of others."""
        if not self.skipped:
            return
        rows = len(self.skipped) + kept
        told = listed(self.skipped)
        warnings.warn(f"{name}: {len(self.skipped)} of {rows} rows skipped: {told}", stacklevel=3)


STRICT = ReadOptions()


def listed(entries: list[str]) -> str:
    """The first entries, and the number of others."""
    more = f"; and {len(entries) - _LISTED:,} more" if len(entries) > _LISTED else ""
    return "; ".join(entries[:_LISTED]) + more


_LONG_ROWS: ContextVar[list[tuple[str, int]] | None] = ContextVar("long_rows", default=None)


@contextmanager
def long_rows() -> Iterator[list[tuple[str, int]]]:
    """Collect the place, `path:line`, and the number of words of long rows."""
    found: list[tuple[str, int]] = []
    token = _LONG_ROWS.set(found)
    try:
        yield found
    finally:
        _LONG_ROWS.reset(token)


def note_length(words: int, place: str) -> None:
    """Record the length of a row."""
    found = _LONG_ROWS.get()
    if found is not None and words > LONG:
        found.append((place, words))
