"""Definitions from WordNet's own database files, `data.noun`, `data.verb`, `data.adj`, `data.adv`.

The format is that of the manual page wndb(5WN). A line is a synset: its offset, lexicographer file,
type, number of words in hexadecimal, the words with an identifier each, pointers, and after a bar
the gloss: the definition, then examples in quotation marks.
"""

import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sparsewood.lab.data._lines import fault, numbered_lines

FILES = {"noun": "data.noun", "verb": "data.verb", "adj": "data.adj", "adv": "data.adv"}
SYSTEM = ("/usr/share/wordnet", "/usr/local/share/wordnet")
_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # marks the position of an adjective
_EXAMPLES = re.compile(r'(?:;|:|,|^)\s*"')


@dataclass(frozen=True)
class Definition:
    """A definition: its words, text and part of speech."""

    lemmas: tuple[str, ...]
    text: str
    pos: str


def find_wordnet() -> Path:
    """The folder of an installed WordNet: Debian's `wordnet-base`, or NLTK's corpus (or its zip).

    Raises:
        ValueError: if there is none, with how to install one.
    """
    for place in _places():
        if is_wordnet(place):
            return place
    raise ValueError(
        "no WordNet is installed; pass a folder with data.noun, data.verb, data.adj and data.adv, "
        "or install one (apt-get install wordnet-base, or python -m nltk.downloader wordnet)"
    )


def is_wordnet(path: Path) -> bool:
    """Whether `path` is a folder, or a zip file, of WordNet's database."""
    if path.suffix == ".zip":
        return path.is_file()
    return all((path / name).is_file() for name in FILES.values())


def read_wordnet(path: Path) -> list[Definition]:
    """The definitions with their single words; definitions without one are left out.

    Args:
        path: a folder with the four files, or a zip of one, as NLTK keeps it.

    Raises:
        ValueError: if a file is not there, or at the first line that is not a synset.
    """
    definitions = []
    for pos, name in FILES.items():
        for number, line in _lines(path, name):
            if line.startswith("  ") or not line.strip():  # the licence
                continue
            lemmas, text = _synset(line, path / name, number)
            if lemmas and text:
                definitions.append(Definition(lemmas, text, pos))
    return definitions


def _synset(line: str, path: Path, number: int) -> tuple[tuple[str, ...], str]:
    fields, bar, gloss = line.partition(" | ")
    columns = fields.split(" ")
    try:
        count = int(columns[3], 16)
        words = columns[4 : 4 + 2 * count : 2]
    except (IndexError, ValueError):
        count, words = 0, []
    if not bar or count == 0 or len(words) != count:
        fault(path, number, "expected a synset of WordNet: offset, file, type, words, ... | gloss")
    lemmas = (_MARKER.sub("", word) for word in words if "_" not in word)
    return tuple(dict.fromkeys(lemmas)), _EXAMPLES.split(gloss, maxsplit=1)[0].strip(" ;")


def _lines(path: Path, name: str) -> Iterator[tuple[int, str]]:
    if path.suffix != ".zip":
        yield from numbered_lines(path / name)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            inside = next((n for n in archive.namelist() if Path(n).name == name), None)
            if inside is None:
                raise ValueError(f"{path}: no {name} in this archive")
            text = archive.read(inside).decode("utf-8")
    except (OSError, UnicodeDecodeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path}: cannot be read ({error})") from error
    yield from enumerate(text.split("\n"), 1)


def _places() -> Iterator[Path]:
    """Where WordNet is looked for: `$WNSEARCHDIR`, Debian's folder, then NLTK's as NLTK does."""
    if own := os.environ.get("WNSEARCHDIR"):
        yield Path(own)
    yield from map(Path, SYSTEM)
    roots = [Path(p) for p in os.environ.get("NLTK_DATA", "").split(os.pathsep) if p]
    roots += [Path.home() / "nltk_data", Path(sys.prefix) / "nltk_data"]
    roots += [Path(sys.prefix) / "share" / "nltk_data", Path(sys.prefix) / "lib" / "nltk_data"]
    roots += [Path(p) / "nltk_data" for p in ("/usr/share", "/usr/local/share", "/usr/lib")]
    for root in roots:
        for corpus in ("wordnet", "wordnet31", "wordnet2021"):
            yield root / "corpora" / corpus
            yield root / "corpora" / f"{corpus}.zip"
