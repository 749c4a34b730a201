"""Lines of files, and errors that name the line."""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.data.read_options import STRICT, BadRow, ReadOptions, note_length
from sparsewood.lab.data.text import WordsOf, tokenize


def fault(path: Path | str, line: int, message: str) -> NoReturn:
    """Raise a BadRow that begins with `path:line`. Messages do not quote the content of files."""
    raise BadRow(f"{path}:{line}: {message}")


def whole_lines(path: Path, how: ReadOptions = STRICT) -> Iterator[tuple[int, str]]:
    """The lines of a file, including line ends, with their numbers from 1.

    Only line feeds end a line: some corpora contain other Unicode line separators.

    Raises:
        ValueError: if the file cannot be read; at the first line that is not text, unless `how`
            skips bad rows.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(_raw_lines(file, path, how), 1):
                with how.row():
                    yield number, _decoded(line, path, number, how)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from error


def _raw_lines(file: BinaryIO, path: Path, how: ReadOptions) -> Iterable[bytes | str]:
    """The lines, as bytes if the encoding allows splitting bytes."""
    if how.splits_bytes:
        return file
    try:
        return io.StringIO(file.read().decode(how.encoding), newline="\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not {how.encoding} text ({error.reason}){_hint(how)}") from error


def _decoded(line: bytes | str, path: Path, number: int, how: ReadOptions) -> str:
    if isinstance(line, str):
        return line
    encoding = how.encoding
    name = "UTF-8" if encoding == "utf-8" else encoding
    if b"\0" in line:  # UTF-16, or not text
        fault(path, number, f"not {name} text (a NUL byte){_hint(how, 'utf-16')}")
    try:
        return line.decode("utf-8-sig" if number == 1 and encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        wrong = f"not {name} text ({error.reason} at byte {error.start + 1})"
        fault(path, number, f"{wrong}{_hint(how)}")


def _hint(how: ReadOptions, example: str = "latin-1") -> str:
    """A hint about the encoding; empty for corpora, whose encoding is fixed."""
    return "" if how is STRICT else f"; set another one with --encoding, {example} for example"


def numbered_lines(path: Path, how: ReadOptions = STRICT) -> Iterator[tuple[int, str]]:
    """As `whole_lines`, without line ends."""
    return ((number, line.rstrip("\r\n")) for number, line in whole_lines(path, how))


def full_lines(path: Path, how: ReadOptions = STRICT) -> Iterator[tuple[int, str]]:
    """As `numbered_lines`, without lines of white space."""
    return ((number, line) for number, line in numbered_lines(path, how) if line.strip())


def json_lines(path: Path, how: ReadOptions = STRICT) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file with one per line, with their line numbers."""
    for number, line in full_lines(path, how):
        with how.row():
            yield number, _object(line, path, number)


def _object(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        fault(path, number, f"expected a JSON object ({error})")
    if not isinstance(row, dict):
        fault(path, number, f"expected a JSON object, got {type(row).__name__}")
    if "\\u" in line and (problem := surrogate_problem(row)):
        fault(path, number, problem)
    return row


def surrogate_problem(row: Any) -> str | None:
    """The error of JSON with unpaired surrogates; None if there are none."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start]).strip("'")
        return f"expected characters, got {half}, half of a surrogate pair"
    return None


def sentence(text: str, path: Path | str, line: int, words_of: WordsOf = tokenize) -> Sentence:
    """The sentence of `text`, split by `words_of`.

    Raises:
        ValueError: if it has no words, with the line.
    """
    words = words_of(text)
    if not words:
        fault(path, line, "an empty sentence")
    note_length(len(words), f"{path}:{line}")
    return Sentence(words)


def given_heads(words: Sequence[str], heads: str, path: Path | str, line: int) -> Sentence:
    """The sentence with its heads, given as integers separated by spaces.

    Raises:
        ValueError: if they are not the heads of a tree over the words, with the line.
    """
    try:
        tree = tuple(map(int, heads.split())) if words else ()
    except ValueError:
        fault(path, line, "heads: expected integers separated by spaces")
    return parsed_sentence(words, tree, path, line)


def parsed_sentence(
    words: Sequence[str], heads: Sequence[int], path: Path | str, line: int
) -> Sentence:
    """The sentence with its heads; raises ValueError like `given_heads`."""
    if not words:
        fault(path, line, "an empty sentence")
    if problem := tree_problem(heads, len(words)):
        fault(path, line, f"heads: {problem}")
    note_length(len(words), f"{path}:{line}")
    return Sentence(tuple(words), tuple(heads))


def tree_problem(heads: Sequence[int], n: int) -> str | None:
    """Why `heads` is not a dependency tree of n words; None if it is one."""
    if len(heads) != n:
        return f"expected {n}, one for each word, got {len(heads)}"
    for word, head in enumerate(heads, 1):
        if not 0 <= head <= n:
            return f"word {word}: expected 0 to {n}, got {head}"
    reached = [True] + [False] * n  # whether the root is reached from word i
    for word in range(1, n + 1):
        path, node = [], word
        while not reached[node]:
            path.append(node)
            node = heads[node - 1]
            if len(path) > n:
                return f"word {word} is in or below a cycle"
        for node in path:
            reached[node] = True
    return None
