"""Compiled kernels on disk, one file each, by a name that tells all they depend on."""

import os
from contextlib import suppress
from pathlib import Path


def folder() -> Path:
    """`SPARSEWOOD_CACHE`, or the folder of caches that the system has."""
    chosen = os.environ.get("SPARSEWOOD_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "sparsewood"


def read(name: str) -> bytes | None:
    """What is kept under `name`."""
    try:
        return (folder() / name).read_bytes()
    except OSError:
        return None


def write(name: str, code: bytes) -> None:
    """Keep `code`, in full or not at all; a folder that cannot be written to keeps nothing."""
    path = folder() / name
    draft = path.with_name(f".{name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(code)
        draft.replace(path)
    with suppress(OSError):
        draft.unlink()
