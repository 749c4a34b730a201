"""A cache of compiled kernels on disk, one file each; names encode all dependencies."""

import os
from contextlib import suppress
from pathlib import Path


def folder() -> Path:
    """`SPARSEWOOD_CACHE`, or the cache folder of the system."""
    chosen = os.environ.get("SPARSEWOOD_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "sparsewood"


def read(name: str) -> bytes | None:
    """The cached code `name`, or None."""
    try:
        return (folder() / name).read_bytes()
    except OSError:
        return None


def write(name: str, code: bytes) -> None:
    """Store `code` atomically; does nothing if the folder is not writable."""
    path = folder() / name
    draft = path.with_name(f".{name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(code)
        draft.replace(path)
    with suppress(OSError):
        draft.unlink()
