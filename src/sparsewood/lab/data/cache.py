"""The folder of cached files."""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """`$SPARSEWOOD_CACHE`, or the folder "sparsewood" in the user's cache. It need not exist."""
    if own := os.environ.get("SPARSEWOOD_CACHE"):
        return Path(own)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg) / "sparsewood"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "sparsewood"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "sparsewood"
    return Path.home() / ".cache" / "sparsewood"
