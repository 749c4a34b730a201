"""How results show themselves in a notebook and in a terminal.

Drawing stands above results, so the package, which stands above both, brings them together.
"""

from collections.abc import Callable
from typing import Any


def _nothing(_result: Any) -> str | None:
    return None


def _no_drawing(*_given: Any, **_named: Any) -> Any:
    raise ImportError("sparsewood is not imported as a package: there is nothing that draws")


html: Callable[[Any], str | None] = _nothing
text: Callable[[Any], str | None] = _nothing
show: Callable[..., Any] = _no_drawing
