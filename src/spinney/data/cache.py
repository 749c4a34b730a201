"""Where things that took long to make are kept."""

import os
import sys
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
