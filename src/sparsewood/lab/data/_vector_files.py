"""The formats of word vectors. Words are compared as UTF-8 bytes, never decoded."""

import gzip
import math
import os
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from sparsewood.lab._extras import require
from sparsewood.lab.data.text import is_number

_OFTEN = 2000  # lines between two updates of the progress bar
_FASTTEXT_MODEL = (793712314).to_bytes(4, "little")  # the first bytes of fastText's own `.bin`


class VectorTable(NamedTuple):
    """The wanted words in a file, and their vectors (words, size) float32."""

    size: int
    words: list[str]
    vectors: NDArray[np.float32]


class _Collector:
    """Collects the vectors of wanted words, or of all; the first one if a word occurs twice."""

    def __init__(self, wanted: Set[str] | None) -> None:
        self._wanted = None if wanted is None else {encoded(word) for word in wanted}
        self._found: dict[bytes, NDArray[np.float32]] = {}

    def wants(self, word: bytes) -> bool:
        return word not in self._found and (self._wanted is None or word in self._wanted)

    def add(self, word: bytes, vector: NDArray[np.float32]) -> None:
        self._found[word] = vector

    def found(self, size: int) -> VectorTable:
        rows = list(self._found.values())
        vectors = np.stack(rows) if rows else np.zeros((0, size), np.float32)
        return VectorTable(size, list(map(decoded, self._found)), vectors)


def read_text(path: Path, wanted: Set[str] | None, progress: bool) -> VectorTable:
    """A word and its numbers on each line, optionally after a header `<words> <size>`.

    A word may contain spaces: the last `size` fields are the numbers.
    """
    collector = _Collector(wanted)
    size = promised = None
    number = first = 1
    with _opened(path, progress) as (stream, step):
        for number, line in enumerate(stream, 1):
            if number % _OFTEN == 0:
                step()
            line = line.rstrip(b" \r\n")
            if size is None:
                promised, size = _header(line)
                if size == 0:
                    raise ValueError(f"{path}:1: expected a word and its numbers, got one field")
                if promised is not None:
                    first = 2
                    continue
            word, rest = _split(line, size, f"{path}:{number}")
            if collector.wants(word):
                collector.add(word, _numbers(rest, f"{path}:{number}"))
    if size is None:
        raise ValueError(f"{path}: the file is empty")
    lines = number - first + 1
    if promised is not None and promised != lines:
        raise ValueError(
            f"{path}:1: the header announces {promised} words, the file has {lines}; is it cut?"
        )
    return collector.found(size)


def _header(line: bytes) -> tuple[int | None, int]:
    """The number of words in a header, None if it is not a header, and the size of the vectors."""
    fields = line.split(b" ")
    if len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit():
        return int(fields[0]), int(fields[1])
    return None, len(fields) - 1


def _split(line: bytes, size: int, place: str) -> tuple[bytes, bytes]:
    """A line's word and its numbers."""
    surplus = line.count(b" ") - size
    if surplus == 0:
        word, _, rest = line.partition(b" ")
        return word, rest
    word, *numbers = line.rsplit(b" ", size)
    # Spaces belong to the word unless they are followed by a number.
    if surplus < 0 or size == 0 or is_number(word.rsplit(b" ", 1)[-1]):
        raise ValueError(
            f"{place}: expected a word and {size} numbers, got {line.count(b' ') + 1} fields"
        )
    return word, b" ".join(numbers)


def _numbers(text: bytes, place: str) -> NDArray[np.float32]:
    try:
        values = [float(field) for field in text.split(b" ")]
    except ValueError:
        raise ValueError(f"{place}: expected numbers after the word") from None
    if not all(map(math.isfinite, values)):
        raise ValueError(f"{place}: expected finite numbers, got {min(values, key=math.isfinite)}")
    return np.array(values, np.float32)


def read_binary(path: Path, wanted: Set[str] | None, progress: bool) -> VectorTable:
    """word2vec's binary format: a header line, then each word, a space and `size` floats."""
    collector = _Collector(wanted)
    with _opened(path, progress) as (stream, step):
        header = stream.readline(100)
        if header.startswith(_FASTTEXT_MODEL):
            raise ValueError(f"{path}: is a model of fastText; its vectors are in the `.vec` file")
        promised, size = _header(header.rstrip())
        if promised is None:
            raise ValueError(f"{path}: expected a header '<words> <size>' of word2vec")
        for number in range(promised):
            if number % _OFTEN == 0:
                step()
            word = _word(stream)
            raw = stream.read(4 * size)
            if len(raw) < 4 * size:
                raise ValueError(
                    f"{path}: the header announces {promised} words, the file ends in word "
                    f"{number + 1}; is it complete?"
                )
            if collector.wants(word):
                vector = np.frombuffer(raw, "<f4").astype(np.float32)
                if not np.isfinite(vector).all():
                    raise ValueError(f"{path}: word {number + 1}: expected finite numbers")
                collector.add(word, vector)
    return collector.found(size)


def _word(stream: BinaryIO) -> bytes:
    """The bytes up to the next space. Some files end each vector with a newline."""
    word = bytearray()
    while (byte := stream.read(1)) not in (b" ", b""):
        word += byte
    return bytes(word.lstrip(b"\n"))


def read_archive(path: Path, wanted: Set[str] | None) -> VectorTable:
    """An npz with `words`, strings or one newline-separated UTF-8 object, and `vectors`."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        if not {"words", "vectors"} <= set(archive.files):
            raise ValueError(
                f"{path}: expected an npz with `words` and `vectors`, it holds "
                f"{', '.join(archive.files[:10])}"
            )
        words, vectors = _byte_words(archive["words"]), archive["vectors"]
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise ValueError(
            f"{path}: expected vectors of shape ({len(words)}, size) for {len(words)} words, "
            f"got {vectors.shape}"
        )
    return _choose(words, vectors, wanted, path)


def read_package(path: Path, wanted: Set[str] | None, progress: bool) -> VectorTable:
    """The vectors of the extra [words]: an npy, and a parquet file of the words beside it."""
    del progress  # loading takes half a second
    parquet = require("pyarrow.parquet", extra="words")
    words = parquet.read_table(path.with_name("glove_6B_index.parquet"))["index"].to_pylist()
    return _choose([encoded(w) for w in words], np.load(path, mmap_mode="r"), wanted, path)


def encoded(word: str) -> bytes:
    """UTF-8; surrogates, which files do not contain, are allowed."""
    return word.encode("utf-8", "surrogatepass")


def decoded(word: bytes) -> str:
    """The inverse of `encoded`; invalid UTF-8 is replaced."""
    try:
        return word.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return word.decode("utf-8", "replace")


def _choose(
    words: list[bytes], vectors: NDArray[np.floating], wanted: Set[str] | None, path: Path
) -> VectorTable:
    first: dict[bytes, int] = {}
    for row, word in enumerate(words):
        first.setdefault(word, row)
    if wanted is None:
        rows = {decoded(key): row for key, row in first.items()}
    else:
        rows = {word: first[key] for word in sorted(wanted) if (key := encoded(word)) in first}
    chosen = vectors[list(rows.values())].astype(np.float32)
    if not np.isfinite(chosen).all():
        raise ValueError(f"{path}: expected finite numbers")
    return VectorTable(vectors.shape[1], list(rows), chosen)


def _byte_words(array: NDArray[np.generic]) -> list[bytes]:
    if array.ndim == 0 or array.dtype == np.uint8:
        value = array.item() if array.ndim == 0 else array.tobytes()
        return (value if isinstance(value, bytes) else encoded(str(value))).split(b"\n")
    return [word if isinstance(word, bytes) else encoded(str(word)) for word in array.tolist()]


@contextmanager
def _opened(path: Path, progress: bool) -> Iterator[tuple[BinaryIO, Callable[[], None]]]:
    """The bytes of a file, decompressed if necessary, and a function that moves its bar."""
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with (
        path.open("rb") as raw,
        Progress(
            *columns,
            console=console,
            transient=True,
            disable=not (progress and console.is_terminal),
        ) as bar,
    ):
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        task = bar.add_task(path.name, total=os.fstat(raw.fileno()).st_size)
        stream = gzip.GzipFile(fileobj=raw) if packed else raw
        yield cast(BinaryIO, stream), lambda: bar.update(task, completed=raw.tell())
