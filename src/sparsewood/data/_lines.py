"""Lines of files, and errors that name them."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from sparsewood.data.examples import Sentence
from sparsewood.data.text import tokenize


def fault(path: Path | str, line: int, message: str) -> NoReturn:
    """Raise a ValueError that begins with `path:line`."""
    raise ValueError(f"{path}:{line}: {message}")


def whole_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers from 1 and what ends them.

    Only line feeds end a line: some corpora hold other characters that Unicode counts as such.

    Raises:
        ValueError: if the file cannot be read; at the first line that is not text in UTF-8.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield number, _decoded(line, path, number)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from error


def _decoded(line: bytes, path: Path, number: int) -> str:
    if b"\0" in line:  # UTF-16, or no text at all
        fault(path, number, "not UTF-8 text (a NUL byte)")
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        fault(path, number, f"not UTF-8 text ({error.reason} at byte {error.start + 1})")


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """As `whole_lines`, without what ends them."""
    return ((number, line.rstrip("\r\n")) for number, line in whole_lines(path))


def full_lines(path: Path) -> Iterator[tuple[int, str]]:
    """As `numbered_lines`, without the lines that hold only white space."""
    return ((number, line) for number, line in numbered_lines(path) if line.strip())


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file that holds one a line, with the line numbers."""
    for number, line in full_lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            fault(path, number, f"expected a JSON object ({error})")
        if not isinstance(row, dict):
            fault(path, number, f"expected a JSON object, got {type(row).__name__}")
        yield number, row


def sentence(text: str, path: Path | str, line: int, *, split: bool = True) -> Sentence:
    """The sentence of `text`; with `split` punctuation is parted from words.

    Raises:
        ValueError: if it has no words, naming the line.
    """
    words = tokenize(text) if split else tuple(text.split())
    if not words:
        fault(path, line, "an empty sentence")
    return Sentence(words)


def given_heads(words: Sequence[str], heads: str, path: Path | str, line: int) -> Sentence:
    """The sentence with its heads, written as integers between spaces.

    Raises:
        ValueError: if they are not the heads of a tree over the words, naming the line.
    """
    if not words:
        fault(path, line, "an empty sentence")
    try:
        tree = tuple(map(int, heads.split()))
    except ValueError:
        fault(path, line, f"heads: expected integers between spaces, got {heads[:60]!r}")
    if problem := tree_problem(tree, len(words)):
        fault(path, line, f"heads: {problem}")
    return Sentence(tuple(words), tree)


def tree_problem(heads: Sequence[int], n: int) -> str | None:
    """What keeps `heads` from being a dependency tree of n words; None if nothing does."""
    if len(heads) != n:
        return f"expected {n}, one for each word, got {len(heads)}"
    for word, head in enumerate(heads, 1):
        if not 0 <= head <= n:
            return f"word {word}: expected 0 to {n}, got {head}"
    reached = [True] + [False] * n  # from word i the root is reached
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
