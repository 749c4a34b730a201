"""The sentences that the arguments of a command stand for: typed, in files or on standard input."""

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import TextIO

from sparsewood.lab.data import Sentence
from sparsewood.lab.data._lines import full_lines
from sparsewood.lab.data.columns import read_table
from sparsewood.lab.data.conllu import read_treebank
from sparsewood.lab.data.read_options import BadRow, ReadOptions

# Makes a sentence of a text; raises ValueError where the model cannot read it.
ToSentence = Callable[[str], Sentence]
STDIN = "-"
_TABLES = (".csv", ".tsv", ".jsonl")
_FILES = (*_TABLES, ".txt", ".json", ".conllu")  # an argument with such an ending is a file name


@dataclass(frozen=True)
class Files:
    """How to read files of sentences.

    Attributes:
        text: column of the sentences or premises in a table. Default: "text".
        text2: column of the hypotheses. Default: "text2".
        delimiter: column delimiter: one character, "tab" or "space". Default: a comma in .csv,
            otherwise a tab.
        encoding: text encoding of files and standard input.
        skip_bad: skip and list lines that cannot be read, instead of failing.
    """

    text: str | None = None
    text2: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    skip_bad: bool = False

    def how(self) -> ReadOptions:
        """The same as `ReadOptions`; raises ValueError if encoding or delimiter is invalid."""
        return ReadOptions(self.encoding, self.delimiter, self.skip_bad)


@dataclass(frozen=True)
class Line:
    """One sentence, or a premise and a hypothesis, as read from the input.

    Attributes:
        sides: the sentences, with heads if the file has them.
        where: the place, "reviews.tsv:3"; empty for typed sentences.
    """

    sides: tuple[Sentence, ...]
    where: str = ""


def check_arguments(arguments: Sequence[str], files: Files) -> None:
    """Raise ValueError for a file that cannot be read, or a file option without any file."""
    for argument in arguments:
        if is_folder(argument):
            raise ValueError(f"{argument}: is a folder; expected a sentence, a file or -")
        if not is_file(argument) and _looks_like_a_file(argument):
            raise ValueError(f"{argument}: no such file (a sentence has spaces in it)")
        if argument.lower().endswith(".json"):
            raise ValueError(f"{argument}: expected a .jsonl file with one object per line")
    files.how()
    named = [name for name in ("text", "text2", "delimiter") if getattr(files, name) is not None]
    if named and not any(map(is_file, arguments)):
        raise ValueError(f"--{named[0]}: applies to files only, but no file is given")


def lines_of(
    arguments: Sequence[str], width: int, files: Files, read: ToSentence
) -> Iterator[Line]:
    """The lines that `arguments` stand for, in order.

    An argument that names a file stands for its lines; "-", or no argument at all, for standard
    input; any other argument is a sentence. Everything except standard input is read before this
    returns, so that errors are raised before any work is done.

    Args:
        arguments: checked by `check_arguments`.
        width: sentences per line: 2 for pairs. A typed pair is two arguments, or one with a tab.
        files: how to read files.
        read: turns a text into a sentence.

    Raises:
        ValueError: at the first malformed line, or if there are no sentences.
    """
    found: list[Iterable[Line]] = []
    typed: list[str] = []
    for argument in arguments or (STDIN,):
        if argument == STDIN:
            found.append(_standard_lines(width, files, read))
        elif is_file(argument):
            found.append(_read(Path(argument), width, files, read))
        elif width == 1 or "\t" in argument:
            found.append([_line(_parted(argument, width), read)])
        else:
            typed.append(argument)
            if len(typed) == width:
                found.append([_line(typed, read)])
                typed.clear()
    if typed:
        raise ValueError(f"expected pairs of sentences; {typed[0][:60]!r} has no second sentence")
    return chain.from_iterable(found)


def is_interactive(arguments: Sequence[str]) -> bool:
    """Whether sentences are typed one by one at a terminal."""
    return (not arguments or STDIN in arguments) and standard_input().isatty()


def standard_input(encoding: str = "utf-8") -> TextIO:
    """Standard input as text; raises ValueError if the process has none."""
    if sys.stdin is None:
        raise ValueError("no sentences: there is no standard input")
    if isinstance(sys.stdin, TextIOWrapper):
        encoding = "utf-8-sig" if encoding == "utf-8" else encoding
        sys.stdin.reconfigure(encoding=encoding, errors="strict")
    return sys.stdin


def is_file(argument: str) -> bool:
    """Whether this is the path of a file, pipe or device."""
    mode = _mode(argument)
    return mode is not None and not stat.S_ISDIR(mode)


def is_folder(argument: str) -> bool:
    """Whether this is the path of a folder."""
    mode = _mode(argument)
    return mode is not None and stat.S_ISDIR(mode)


def _mode(argument: str) -> int | None:
    try:
        return Path(argument).stat().st_mode if argument else None
    except (OSError, ValueError):  # a long sentence is not a valid path
        return None


def _looks_like_a_file(argument: str) -> bool:
    separated = "/" in argument or os.sep in argument
    return len(argument.split()) == 1 and (separated or argument.lower().endswith(_FILES))


def _read(path: Path, width: int, files: Files, read: ToSentence) -> list[Line]:
    how = files.how()
    lines = list(_file(path, width, files, how, read))
    if not lines:
        why = f"; all lines were skipped: {how.skipped[0]}" if how.skipped else ""
        raise ValueError(f"{path}: no sentences in this file{why}")
    how.tell_skipped(str(path), len(lines))
    return lines


def _file(
    path: Path, width: int, files: Files, how: ReadOptions, read: ToSentence
) -> Iterator[Line]:
    suffix = path.suffix.lower()
    if suffix == ".conllu":
        if width > 1:
            raise ValueError(f"{path}: CoNLL-U files have no pairs of sentences")
        return (Line((s,), f"{path}, sentence {i}") for i, s in enumerate(read_treebank(path), 1))
    if files.text is not None or suffix in _TABLES:
        return _table(path, width, files, how, read)
    return _numbered(full_lines(path, how), width, str(path), how, read)


def _table(
    path: Path, width: int, files: Files, how: ReadOptions, read: ToSentence
) -> Iterator[Line]:
    columns = (files.text or "text", files.text2 or "text2")[:width]
    try:
        for number, texts in read_table(path, columns, how):
            with how.row():
                where = f"{path}:{number}"
                if not all(text.strip() for text in texts):
                    raise BadRow(f"{where}: an empty sentence")
                yield _line(texts, read, where)
    except BadRow as bad:
        if files.text is None and "no column 'text'" in str(bad):
            raise ValueError(f"{bad}; select another with --text") from None
        raise


def _numbered(
    lines: Iterable[tuple[int, str]], width: int, name: str, how: ReadOptions, read: ToSentence
) -> Iterator[Line]:
    for number, line in lines:
        where = f"{name}:{number}"
        with how.row():
            yield _line(_parted(line, width, where), read, where)


def _line(texts: Sequence[str], read: ToSentence, where: str = "") -> Line:
    try:
        return Line(tuple(map(read, texts)), where)
    except ValueError as error:
        raise BadRow(f"{where}: {error}" if where else str(error)) from None


def _parted(text: str, width: int, where: str = "") -> tuple[str, ...]:
    parts = tuple(text.split("\t")) if width > 1 else (text,)
    at = where and f"{where}: "
    if len(parts) != width:
        raise BadRow(
            f"{at}expected premise and hypothesis separated by a tab; got {len(parts)} columns"
        )
    if not all(part.strip() for part in parts):
        raise BadRow(f"{at}expected a sentence, got white space")
    return parts


def _standard_lines(width: int, files: Files, read: ToSentence) -> Iterator[Line]:
    how, found, name = files.how(), 0, "standard input"
    lines = enumerate(standard_input(files.encoding), 1)
    full = ((number, line.rstrip("\n")) for number, line in lines if line.strip())
    try:
        for line in _numbered(full, width, name, how, read):
            found += 1
            yield line
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name}: not {files.encoding.upper()} text ({error.reason}); --encoding names another "
            "one, latin-1 for example"
        ) from error
    if not found:
        raise ValueError("no sentences: standard input is empty")
    how.tell_skipped(name, found)
