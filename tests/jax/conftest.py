"""64-bit numbers in jax, unless a test turns them off."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def _doubles() -> Iterator[None]:
    with jax.enable_x64(True):
        yield
