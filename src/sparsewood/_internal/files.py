"""Files that are there in full or not at all, whatever moment a process dies at."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A name to write to in the folder of `path`, renamed to `path` at the end.

    A reader of `path` sees the old file or the new one, never a part; after an error, the old one.

    Raises:
        OSError: if the file cannot be written; it names `path`.
    """
    # The suffix comes last, since some writers choose the format by it.
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
    """Make the file or the folder's list of names lasting."""
    if os.name == "nt" and path.is_dir():
        return  # a folder cannot be opened there
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
