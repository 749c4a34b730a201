"""Where things that took long to make are kept, and how files are written whole."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """`$SPINNEY_CACHE`, or the folder "spinney" in the user's cache. It need not exist."""
    if own := os.environ.get("SPINNEY_CACHE"):
        return Path(own)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg) / "spinney"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "spinney"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "spinney"
    return Path.home() / ".cache" / "spinney"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A name to write to in the folder of `path`, renamed to `path` at the end.

    A reader of `path` sees the old file or the new one, never a part; after an error, the old one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix comes last, since some writers choose the format by it.
    draft = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
