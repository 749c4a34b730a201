"""Hooks that display results in a notebook and in a terminal.

Results must not import drawing, so the package sets these hooks when it is imported.
"""

from collections.abc import Callable
from typing import Any


def _nothing(_result: Any) -> str | None:
    return None


def _no_drawing(*_given: Any, **_named: Any) -> Any:
    raise ImportError("drawing is not available: import sparsewood as a package")


html: Callable[[Any], str | None] = _nothing
text: Callable[[Any], str | None] = _nothing
show: Callable[..., Any] = _no_drawing
