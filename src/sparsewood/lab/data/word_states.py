"""A vector for each word of each sentence of a corpus, computed once and kept on disk."""

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparsewood.lab._files import try_lock, whole_file

Words = tuple[str, ...]
Rows = NDArray[numpy.float32]
Computed = Iterable[tuple[int, Rows]]
"""Sentences by their index, in any order, and the vectors (n, d) of their words."""

_POLL = 0.1  # seconds between two attempts to lock


class WordStates:
    """The vectors of the words of some sentences, read from a memory-mapped file.

    Args:
        table: (N, d) float32, the vectors of the words of all sentences, one after another.
        sentences: distinct sentences, with N words in total.
    """

    def __init__(self, table: Rows, sentences: Sequence[Words]) -> None:
        self._table = table
        self._starts = dict(zip(sentences, _starts(sentences), strict=False))

    def batch(self, sentences: Sequence[Words]) -> Tensor:
        """(B, n, d) float32, the vectors of the words of each sentence, zero beyond its end."""
        longest = max(map(len, sentences))
        rows = numpy.zeros((len(sentences), longest, self._table.shape[1]), numpy.float32)
        for b, words in enumerate(sentences):
            start = self._starts[words]
            rows[b, : len(words)] = self._table[start : start + len(words)]
        return torch.from_numpy(rows)


class NoRoomError(Exception):
    """The vectors cannot be kept; the message says why."""


def size_in_bytes(sentences: Iterable[Words], size: int) -> int:
    """The size of the vectors of all words, `size` numbers each."""
    return sum(map(len, sentences)) * size * numpy.dtype(numpy.float32).itemsize


def kept_states(
    path: Path,
    sentences: Sequence[Words],
    size: int,
    compute: Callable[[], Computed],
    *,
    limit: float,
) -> WordStates:
    """The states in the file `path`, which is written first unless it exists.

    Of several processes one computes the vectors and the others wait for it. To stay within the
    limit, files in the same folder are removed, those unused for longest first; processes that
    have opened them can go on reading.

    Args:
        path: a name that identifies sentences and vectors.
        sentences: distinct sentences.
        size: d, the size of a vector.
        compute: the vectors of every sentence.
        limit: maximum size of all files in the folder, in bytes.

    Raises:
        NoRoomError: if the vectors exceed the limit or do not fit on the disk.
    """
    shape = sum(map(len, sentences)), size
    table = _opened(path, shape)
    if table is None:
        if size_in_bytes(sentences, size) > limit:
            raise NoRoomError(f"that is more than the limit of {limit / 1e9:g} GB")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with _locked(path.with_suffix(".lock")):
                table = _opened(path, shape)  # another process may have written it meanwhile
                if table is None:
                    _make_room(path, size_in_bytes(sentences, size), limit)
                    _write(path, shape, _starts(sentences), compute())
                    table = _opened(path, shape)
        except OSError as error:
            raise NoRoomError(f"{path.parent} cannot be written to ({error})") from error
    if table is None:
        raise NoRoomError(f"{path} was removed by another process")
    with suppress(OSError):  # a cache that may only be read
        os.utime(path)
    return WordStates(table, sentences)


def _starts(sentences: Iterable[Words]) -> list[int]:
    """The row of the first word of each sentence, and the number of rows."""
    return list(accumulate(map(len, sentences), initial=0))


def _opened(path: Path, shape: tuple[int, int]) -> Rows | None:
    """The table in a file; None if there is none of this shape."""
    try:
        table = numpy.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):  # missing or damaged
        return None
    return table if table.shape == shape and table.dtype == numpy.float32 else None


def _write(path: Path, shape: tuple[int, int], starts: Sequence[int], computed: Computed) -> None:
    # Not through a memory map, in which a full disk would kill the process.
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    with whole_file(path) as draft, draft.open("wb") as file:
        numpy.lib.format.write_array_header_1_0(file, header)
        first, row = file.tell(), shape[1] * 4
        for index, rows in computed:
            file.seek(first + starts[index] * row)
            file.write(rows.astype("<f4").tobytes())


def _make_room(path: Path, needed: int, limit: float) -> None:
    """Remove old files beside `path` until `needed` bytes fit within the limit."""
    for draft in path.parent.glob(f".{path.stem}.*"):  # of processes that were killed
        draft.unlink(missing_ok=True)
    found = [(file.stat(), file) for file in path.parent.glob("*.npy") if file != path]
    total = needed + sum(status.st_size for status, _ in found)
    for status, file in sorted(found, key=lambda entry: entry[0].st_mtime):
        if total > limit:
            file.unlink(missing_ok=True)
            total -= status.st_size
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise NoRoomError(f"{path.parent} has {free / 1e9:.1f} GB free")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock `path`, after waiting for other processes."""
    with path.open("w") as file:
        while not try_lock(file):
            time.sleep(_POLL)
        yield
