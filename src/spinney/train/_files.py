"""Files and folders that are there in full or not at all, whatever moment a process dies at."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PARTIAL = ".partial"  # the suffix of what is still being written


def write_text(path: Path, text: str) -> None:
    """Write `text` under a temporary name, then rename it to `path`."""
    partial = path.with_name(path.name + PARTIAL)
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    _sync(path.parent)


def write_json(path: Path, data: Any) -> None:
    """Write `data` as indented JSON."""
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to fill, which becomes `path` in place of what was there before."""
    partial = path.with_name(path.name + PARTIAL)
    if partial.exists():
        shutil.rmtree(partial)
    partial.mkdir(parents=True)
    yield partial
    for file in sorted(partial.rglob("*")):
        _sync(file)
    _sync(partial)
    if path.exists():
        shutil.rmtree(path)
    partial.rename(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    """Make the file or the folder's list of names lasting."""
    if os.name == "nt" and path.is_dir():
        return  # a folder cannot be opened there
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
