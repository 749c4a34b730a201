"""Files and folders that are written in full or not at all, even if the process dies."""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from sparsewood._internal.files import sync, written_whole

PARTIAL = ".partial"  # the suffix of a folder that is still being written
_POLL = 0.1  # seconds between two attempts to lock


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """`written_whole`, in a folder that is created if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as draft:
        yield draft


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8."""
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")


def write_json(path: Path, data: Any) -> None:
    """Write `data` as indented JSON."""
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to fill, which then replaces `path`.

    After an error it is removed, and `path` is unchanged.
    """
    partial = path.with_name(path.name + PARTIAL)
    if partial.exists():
        shutil.rmtree(partial)
    partial.mkdir(parents=True)
    try:
        yield partial
        for file in sorted(partial.rglob("*")):
            sync(file)
        sync(partial)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    if path.exists():
        shutil.rmtree(path)
    partial.rename(path)
    sync(path.parent)


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Lock `folder` against other processes. Folders created for this are removed if they stay
    empty.

    Raises:
        ValueError: if another process holds the lock.
    """
    places = (folder, *folder.parents)
    new = [place for place in places if not place.exists()]  # the innermost first
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".lock"
    with path.open("w") as file:
        if not try_lock(file):
            raise ValueError(f"{folder}: another process is writing there")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            with suppress(OSError):  # stops at the first folder that is not empty
                for place in new:
                    place.rmdir()


def wait_for_writer(folder: Path, patience: float) -> None:
    """Wait until no process holds `folder` by `sole_writer`, for at most `patience` seconds."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            with (folder / ".lock").open("r+") as file:
                if try_lock(file):
                    return
        except FileNotFoundError:
            return
        time.sleep(_POLL)


def try_lock(file: IO[str]) -> bool:
    """Lock an open file until it is closed or the process dies; False if another has done so."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except ImportError:  # no such locks on Windows
        return True
    return True
