"""Tests and parameters that run only in `make test-all`."""

from collections.abc import Iterable
from typing import Any

import pytest


def some_quick(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Parameters of which `make test` only runs `quick`, by default the first."""
    values = list(values)
    kept = {values.index(value) for value in quick} or {0}
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=() if index in kept else pytest.mark.full,
        )
        for index, value in enumerate(values)
    ]
