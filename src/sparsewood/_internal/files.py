"""Atomic writes of files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary path in the folder of `path`, renamed to `path` at the end.

    Readers of `path` see the old file or the complete new one; after an error, the old one.

    Raises:
        OSError: the file cannot be written; the error names `path`.
    """
    # Keep the suffix, as some writers choose the format by it.
    draft = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield draft
        sync(draft)
        draft.replace(path)
        sync(path.parent)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(draft)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def sync(path: Path) -> None:
    """Flush the file, or the entries of the folder, to disk."""
    if os.name == "nt" and path.is_dir():
        return  # folders cannot be opened on this system
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
