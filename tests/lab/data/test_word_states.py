"""Vectors of words on disk: read as written, written once, within a limit."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
import torch
from numpy.typing import NDArray

from sparsewood.lab.data import word_states
from sparsewood.lab.data.word_states import NoRoomError, WordStates, kept_states

SENTENCES = [("a",), ("a", "b", "c"), ("b", "a")]
SIZE = 4
ROWS = [
    numpy.arange(len(words) * SIZE, dtype=numpy.float32).reshape(-1, SIZE) + 100 * i
    for i, words in enumerate(SENTENCES)
]
BYTES = 6 * SIZE * 4
LIMIT = 10_000.0


class Computing:
    """Yields the rows out of order, and counts how often it is asked."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> Iterator[tuple[int, NDArray[numpy.float32]]]:
        self.times += 1
        yield from ((i, ROWS[i]) for i in (2, 0, 1))


def kept(path: Path, compute: Computing, limit: float = LIMIT) -> WordStates:
    return kept_states(path, SENTENCES, SIZE, compute, limit=limit)


def check(states: WordStates) -> None:
    batch = states.batch([SENTENCES[1], SENTENCES[2], SENTENCES[1]])
    assert batch.shape == (3, 3, SIZE)
    assert batch.dtype == torch.float32
    for b, i in enumerate((1, 2, 1)):
        n = len(SENTENCES[i])
        assert batch[b, :n].tolist() == ROWS[i].tolist()
        assert not batch[b, n:].any()


def test_what_is_written_is_read_and_written_once(tmp_path: Path) -> None:
    compute, path = Computing(), tmp_path / "new" / "states.npy"
    check(kept(path, compute))
    check(kept(path, compute))
    assert compute.times == 1
    assert {file.name for file in path.parent.iterdir()} == {"states.npy", "states.lock"}
    assert numpy.load(path).shape == (6, SIZE)


@pytest.mark.parametrize("damage", ["truncated", "empty", "another shape", "another dtype"])
def test_a_damaged_file_is_written_again(tmp_path: Path, damage: str) -> None:
    compute, path = Computing(), tmp_path / "states.npy"
    kept(path, compute)
    match damage:
        case "truncated":
            os.truncate(path, path.stat().st_size - 1)
        case "empty":
            path.write_bytes(b"")
        case "another shape":
            numpy.save(path, numpy.zeros((5, SIZE), numpy.float32))
        case "another dtype":
            numpy.save(path, numpy.zeros((6, SIZE)))
    check(kept(path, compute))
    assert compute.times == 2


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> Iterator[tuple[int, NDArray[numpy.float32]]]:
        yield 0, ROWS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept_states(tmp_path / "states.npy", SENTENCES, SIZE, fail, limit=LIMIT)
    assert [file.name for file in tmp_path.iterdir()] == ["states.lock"]
    check(kept(tmp_path / "states.npy", Computing()))


def test_of_several_processes_one_computes(tmp_path: Path) -> None:
    """Threads stand for processes: each opens the lock for itself."""
    slow, found = threading.Event(), []

    class Slow(Computing):
        def __call__(self) -> Iterator[tuple[int, NDArray[numpy.float32]]]:
            assert slow.wait(10)
            return super().__call__()

    compute, path = Slow(), tmp_path / "states.npy"
    threads = [threading.Thread(target=lambda: found.append(kept(path, compute))) for _ in "abc"]
    for thread in threads:
        thread.start()
    slow.set()
    for thread in threads:
        thread.join(30)
    assert compute.times == 1
    assert len(found) == 3
    for states in found:
        check(states)


def test_the_limit_is_kept_by_removing_what_was_unused_for_longest(tmp_path: Path) -> None:
    for when, name in enumerate(["first", "second", "third"]):
        kept(tmp_path / f"{name}.npy", Computing())
        os.utime(tmp_path / f"{name}.npy", (when, when))
    size = (tmp_path / "first.npy").stat().st_size
    old = kept(tmp_path / "first.npy", Computing())  # used now, and thus the last to go
    kept(tmp_path / "fourth.npy", Computing(), limit=3 * size)
    left = {file.stem for file in tmp_path.glob("*.npy")}
    assert left == {"first", "third", "fourth"}
    kept(tmp_path / "fifth.npy", Computing(), limit=BYTES)
    assert {file.stem for file in tmp_path.glob("*.npy")} == {"fifth"}
    check(old)  # the file is gone, but open


def test_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compute, path = Computing(), tmp_path / "states.npy"
    with pytest.raises(NoRoomError, match="that is more than the limit of 9.5e-08 GB"):
        kept(path, compute, limit=BYTES - 1)
    usage = word_states.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(word_states.shutil, "disk_usage", lambda _: usage._replace(free=BYTES - 1))
    with pytest.raises(NoRoomError, match=r"has 0\.0 GB free"):
        kept(path, compute)
    (tmp_path / "file").write_text("")
    with pytest.raises(NoRoomError, match="cannot be written to"):
        kept(tmp_path / "file" / "states.npy", compute)
    assert compute.times == 0
    assert not path.exists()
