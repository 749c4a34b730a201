"""Files and folders that are there in full or not at all, whatever moment a process dies at."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

PARTIAL = ".partial"  # the suffix of a folder that is still being written
_POLL = 0.1  # seconds between two looks at a lock


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A name to write to in the folder of `path`, renamed to `path` at the end.

    A reader of `path` sees the old file or the new one, never a part; after an error, the old one.

    Raises:
        OSError: if the file cannot be written; it names `path`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix comes last, since some writers choose the format by it.
    draft = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield draft
        _sync(draft)
        draft.replace(path)
        _sync(path.parent)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(draft)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8."""
    with whole_file(path) as draft:
        draft.write_text(text, encoding="utf-8")


def write_json(path: Path, data: Any) -> None:
    """Write `data` as indented JSON."""
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to fill, which becomes `path` in place of what was there before.

    After an error it is gone, and what was there before stays.
    """
    partial = path.with_name(path.name + PARTIAL)
    if partial.exists():
        shutil.rmtree(partial)
    partial.mkdir(parents=True)
    try:
        yield partial
        for file in sorted(partial.rglob("*")):
            _sync(file)
        _sync(partial)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    if path.exists():
        shutil.rmtree(path)
    partial.rename(path)
    _sync(path.parent)


@contextmanager
def sole_writer(folder: Path) -> Iterator[None]:
    """Within it no other process may hold `folder`. Folders made for it go again if left empty.

    Raises:
        ValueError: if another process holds it.
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
            with suppress(OSError):  # at the first that is not empty
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


def _sync(path: Path) -> None:
    """Make the file or the folder's list of names lasting."""
    if os.name == "nt" and path.is_dir():
        return  # a folder cannot be opened there
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
