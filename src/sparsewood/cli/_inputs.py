"""What the arguments of a command stand for: sentences, files of them, or standard input."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import TextIO

from sparsewood.data import Sentence
from sparsewood.data._lines import full_lines
from sparsewood.data.columns import header_of, read_table
from sparsewood.data.conllu import read_treebank

STDIN = "-"
_TABLES = (".csv", ".tsv", ".jsonl")
_FILES = (*_TABLES, ".txt", ".json", ".conllu")  # an argument that ends so is no sentence


@dataclass(frozen=True)
class Reading:
    """How files of sentences are read.

    Attributes:
        text: the column of the sentences, or of the premises, in a table; "text" if none is given.
        text2: the column of the hypotheses; "text2" if none is given.
    """

    text: str | None = None
    text2: str | None = None


@dataclass(frozen=True)
class Line:
    """One sentence, or a premise and a hypothesis, as they were found.

    Attributes:
        sides: texts; sentences where a file brings words and heads.
        where: "reviews.tsv:3"; empty for what was typed.
    """

    sides: tuple[str | Sentence, ...]
    where: str = ""


def check_arguments(arguments: Sequence[str], reading: Reading) -> None:
    """Raise ValueError where an argument names a file that cannot be meant."""
    for argument in arguments:
        if is_folder(argument):
            raise ValueError(f"{argument}: a folder; expected a sentence, a file or -")
        if not is_file(argument) and _looks_like_a_file(argument):
            raise ValueError(f"{argument}: no such file (a sentence has spaces in it)")
        if argument.lower().endswith(".json"):
            raise ValueError(f"{argument}: expected an object a line, in a file named .jsonl")
    files = any(map(is_file, arguments))
    for name, column in (("text", reading.text), ("text2", reading.text2)):
        if column is not None and not files:
            raise ValueError(f"--{name}: names a column of a file, and no file is named")


def lines_of(arguments: Sequence[str], width: int, reading: Reading) -> Iterator[Line]:
    """What `arguments` hold, one after the other.

    An argument that names a file stands for what is in it, "-" for standard input, as no argument
    at all does; any other is a sentence. All but standard input is read before this returns, so
    that a mistake is noticed before anything is done.

    Args:
        arguments: those that `check_arguments` has passed.
        width: 2 for pairs. Typed pairs are two arguments, or one with a tab in it.
        reading: how files are read.

    Raises:
        ValueError: at the first line of another form, or where there is nothing at all.
    """
    found: list[Iterable[Line]] = []
    typed: list[str] = []
    for argument in arguments or (STDIN,):
        if argument == STDIN:
            found.append(_numbered(_standard_lines(), width, "standard input"))
        elif is_file(argument):
            found.append(list(_file(Path(argument), width, reading)))
            if not found[-1]:
                raise ValueError(f"{argument}: no sentences in this file")
        elif width == 1 or "\t" in argument:
            found.append([Line(_parted(argument, width, "a pair"))])
        else:
            typed.append(argument)
            if len(typed) == width:
                found.append([Line(tuple(typed))])
                typed.clear()
    if typed:
        raise ValueError(f"expected pairs of sentences; {typed[0][:60]!r} has no second")
    return chain.from_iterable(found)


def is_interactive(arguments: Sequence[str]) -> bool:
    """Whether a person types sentences one by one."""
    return (not arguments or STDIN in arguments) and standard_input().isatty()


def standard_input() -> TextIO:
    """Standard input as UTF-8 text; ValueError where a process was given none."""
    if sys.stdin is None:
        raise ValueError("no sentences: there is no standard input")
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="strict")
    return sys.stdin


def is_file(argument: str) -> bool:
    """Whether there is something to read by this name."""
    mode = _mode(argument)
    return mode is not None and not stat.S_ISDIR(mode)


def is_folder(argument: str) -> bool:
    """Whether there is a folder by this name."""
    mode = _mode(argument)
    return mode is not None and stat.S_ISDIR(mode)


def _mode(argument: str) -> int | None:
    try:
        return Path(argument).stat().st_mode if argument else None
    except (OSError, ValueError):  # a long sentence cannot even be a name
        return None


def _looks_like_a_file(argument: str) -> bool:
    separated = "/" in argument or os.sep in argument
    return len(argument.split()) == 1 and (separated or argument.lower().endswith(_FILES))


def _file(path: Path, width: int, reading: Reading) -> Iterator[Line]:
    suffix = path.suffix.lower()
    if suffix == ".conllu":
        if width > 1:
            raise ValueError(f"{path}: CoNLL-U holds no pairs of sentences")
        return (Line((s,), f"{path}, sentence {i}") for i, s in enumerate(read_treebank(path), 1))
    if reading.text is not None or suffix in _TABLES:
        return _table(path, width, reading)
    return _numbered(full_lines(path), width, str(path))


def _table(path: Path, width: int, reading: Reading) -> Iterator[Line]:
    columns = (reading.text or "text", reading.text2 or "text2")[:width]
    if reading.text is None and path.suffix.lower() != ".jsonl":
        header = header_of(path)
        if header and "text" not in header:
            names = ", ".join(name[:30] for name in header)
            raise ValueError(f"{path}: which column? --text COLUMN; the first line has: {names}")
    for number, texts in read_table(path, columns):
        where = f"{path}:{number}"
        if not all(text.strip() for text in texts):
            raise ValueError(f"{where}: an empty sentence")
        yield Line(tuple(texts), where)


def _numbered(lines: Iterator[tuple[int, str]], width: int, name: str) -> Iterator[Line]:
    for number, line in lines:
        where = f"{name}:{number}"
        yield Line(_parted(line, width, where), where)


def _parted(text: str, width: int, where: str) -> tuple[str, ...]:
    parts = tuple(text.split("\t")) if width > 1 else (text,)
    if len(parts) != width:
        raise ValueError(f"{where}: expected premise, tab, hypothesis; got {text[:60]!r}")
    if not all(part.strip() for part in parts):
        raise ValueError("expected a sentence, got nothing but white space")
    return parts


def _standard_lines() -> Iterator[tuple[int, str]]:
    found = False
    try:
        for number, line in enumerate(standard_input(), 1):
            if line.strip():
                found = True
                yield number, line.rstrip("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"standard input: not UTF-8 text ({error})") from error
    if not found:
        raise ValueError("no sentences: standard input is empty")
