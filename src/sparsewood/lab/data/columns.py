"""Tables: CSV and TSV with a header, JSON lines, and `label<TAB>text[<TAB>text2]` without one.

Without a header, the delimiter may be another one, for example a space: the first delimiter then
ends the label, and the rest is the text.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sparsewood.lab.data._lines import fault, full_lines, json_lines, sentence, whole_lines
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.labels import joined, labelled
from sparsewood.lab.data.read_options import STRICT, BadRow, ReadOptions

_NAME = 40  # maximum characters of the name of a column


def read_plain(path: Path, texts: int = 1, how: ReadOptions = STRICT) -> list[Example]:
    """The examples of a file of `label<TAB>text` or, with two texts, `label<TAB>text<TAB>text2`.

    A single text may contain the delimiter, unless that is a tab.

    Raises:
        ValueError: at a line with another number of columns, or an empty one.
    """
    examples = []
    between = "a tab" if how.delimiter in (None, "\t") else repr(how.delimiter)
    splits = 1 if texts == 1 and how.delimiter not in (None, "\t") else -1
    for number, row in _rows(path, how, splits):
        with how.row():
            label, *columns = row
            if len(columns) != texts:
                wanted = "label and text" if texts == 1 else f"label and {texts} texts"
                found = f"{1 + len(columns)} columns" if columns else "one column"
                hint = " (a space? --delimiter space)" * (not columns and how.delimiter is None)
                fault(
                    path, number, f"expected {wanted} separated by {between}; found {found}{hint}"
                )
            examples.append(_example(label, columns, path, number, how))
    return examples


def read_columns(
    path: Path, label: str, texts: Sequence[str], how: ReadOptions = STRICT
) -> list[Example]:
    """The examples of a table with a header (`.csv`, else tabs) or of JSON lines (`.jsonl`).

    Args:
        path: path of the file.
        label: the column of the labels.
        texts: the column of the sentences, or those of the premises and of the hypotheses.
        how: encoding, delimiter and bad rows.

    Raises:
        ValueError: if a column is missing, with the existing ones; or at the first malformed line.
    """
    examples = []
    lists = label if how.target == "labels" else None
    for number, (name, *columns) in read_table(path, (label, *texts), how, lists):
        with how.row():
            examples.append(_example(name, columns, path, number, how))
    return examples


def read_table(
    path: Path, columns: Sequence[str], how: ReadOptions = STRICT, lists: str | None = None
) -> Iterator[tuple[int, list[str]]]:
    """The line number and the named columns of every row that is not empty.

    In JSON lines, the column `lists` may have lists of labels, which are returned joined.
    """
    if path.suffix.lower() == ".jsonl":
        for number, row in json_lines(path, how):
            with how.row():
                known = _known(columns, row, f"{path}:{number}")
                cells = {c: row[c] for c in known}
                if lists is not None and isinstance(found := cells[lists], list):
                    cells[lists] = joined(found, path, number, how)
                yield number, [_cell(cells[c], c, path, number) for c in known]
        return
    rows = _rows(path, how)
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{path}: expected a header, got an empty file")
    header = first[1]
    index = [header.index(column) for column in _known(columns, header, str(path))]
    for number, row in rows:
        with how.row():
            if len(row) != len(header):
                expected = f"expected {len(header)} columns as in the header"
                fault(path, number, f"{expected}, got {len(row)}")
            yield number, [row[i] for i in index]


def header_of(path: Path, how: ReadOptions = STRICT) -> list[str]:
    """The cells of the first row of a table."""
    return next(_rows(path, how), (0, []))[1]


def _known(columns: Sequence[str], existing: Iterable[str], where: str) -> Sequence[str]:
    names = list(existing)
    for column in columns:
        if column not in names:
            raise BadRow(f"{where}: no column {column!r}; {_named(names)}")
        if names.count(column) > 1:
            raise BadRow(f"{where}: the column {column!r} occurs {names.count(column)} times")
    return columns


def _named(names: Sequence[str]) -> str:
    """The existing columns; only their number if the line does not look like names."""
    if len(names) > 1 and all(len(name) <= _NAME for name in names):
        return f"the columns are {', '.join(names)}"
    return (
        f"there {'is' if len(names) == 1 else 'are'} {len(names)}, and the first line has no names"
    )


def _rows(path: Path, how: ReadOptions, splits: int = -1) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row; rows without quotes are split at most `splits` times, -1 for all."""
    if path.suffix.lower() == ".csv":
        return _csv_rows(path, how)
    delimiter = how.delimiter or "\t"
    return ((number, line.split(delimiter, splits)) for number, line in full_lines(path, how))


def _csv_rows(path: Path, how: ReadOptions) -> Iterator[tuple[int, list[str]]]:
    lines = (line for _, line in whole_lines(path, how))
    reader = csv.reader(lines, delimiter=how.delimiter or ",", strict=True)
    ended = False
    while not ended:
        with how.row():
            try:
                row = next(reader)
            except StopIteration:
                ended = True
            except csv.Error as error:
                fault(path, max(1, reader.line_num), f"not readable as CSV ({error})")
            else:
                if row:
                    yield reader.line_num, row


def _example(
    label: str, texts: Sequence[str], path: Path, number: int, how: ReadOptions
) -> Example:
    sides = [sentence(text, path, number) for text in texts]
    return labelled(sides, label, path, number, how)


def _cell(value: object, column: str, path: Path, number: int) -> str:
    if isinstance(value, list | dict):
        fault(path, number, f"{column}: expected a text, got {type(value).__name__}")
    return "" if value is None else str(value)
