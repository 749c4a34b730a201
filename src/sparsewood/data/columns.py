"""Tables: CSV and TSV with a header, JSON lines, and `label<TAB>text[<TAB>text2]` without one."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sparsewood.data._lines import fault, full_lines, json_lines, sentence, whole_lines
from sparsewood.data.examples import Example


def read_plain(path: Path, texts: int = 1) -> list[Example]:
    """The examples of a file of `label<TAB>text` or, with two texts, `label<TAB>text<TAB>text2`.

    Raises:
        ValueError: at a line with another number of columns, or an empty one.
    """
    examples = []
    for number, line in full_lines(path):
        label, *columns = line.split("\t")
        if len(columns) != texts:
            wanted = "a label and a text" if texts == 1 else f"a label and {texts} texts"
            fault(path, number, f"expected {wanted} between tabs, got {1 + len(columns)} columns")
        examples.append(_example(label, columns, path, number))
    return examples


def read_columns(path: Path, label: str, texts: Sequence[str]) -> list[Example]:
    """The examples of a table with a header (`.csv`, else tabs) or of JSON lines (`.jsonl`).

    Args:
        path: such a file.
        label: the column of the labels.
        texts: the column of the sentences, or those of the premises and of the hypotheses.

    Raises:
        ValueError: if a column is not there, naming those that are; or at the first wrong line.
    """
    return [
        _example(name, columns, path, number)
        for number, (name, *columns) in read_table(path, (label, *texts))
    ]


def read_table(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The line number and the named columns of every row; rows that are empty are left out."""
    if path.suffix.lower() == ".jsonl":
        for number, row in json_lines(path):
            where = f"{path}:{number}"
            yield number, [_cell(row[c], c, where) for c in _known(columns, row, where)]
        return
    rows = _rows(path)
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{path}: expected a header, got an empty file")
    header = first[1]
    index = [header.index(column) for column in _known(columns, header, str(path))]
    for number, row in rows:
        if len(row) != len(header):
            fault(path, number, f"expected {len(header)} columns as in the header, got {len(row)}")
        yield number, [row[i] for i in index]


def header_of(path: Path) -> list[str]:
    """The cells of the first row of a table."""
    return next(_rows(path), (0, []))[1]


def _known(columns: Sequence[str], existing: Iterable[str], where: str) -> Sequence[str]:
    names = list(existing)
    for column in columns:
        if column not in names:
            raise ValueError(f"{where}: no column {column!r}; the columns are {', '.join(names)}")
        if names.count(column) > 1:
            raise ValueError(f"{where}: the column {column!r} is there {names.count(column)} times")
    return columns


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    if path.suffix.lower() == ".csv":
        return _csv_rows(path)
    return ((number, line.split("\t")) for number, line in full_lines(path))


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader((line for _, line in whole_lines(path)), strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        fault(path, max(1, reader.line_num), f"not readable as CSV ({error})")


def _example(label: str, texts: Sequence[str], path: Path, number: int) -> Example:
    if not label.strip():
        fault(path, number, "an empty label")
    return Example(tuple(sentence(text, path, number) for text in texts), label.strip())


def _cell(value: object, column: str, where: str) -> str:
    if isinstance(value, list | dict):
        raise ValueError(f"{where}: {column}: expected a text, got {type(value).__name__}")
    return "" if value is None else str(value)
