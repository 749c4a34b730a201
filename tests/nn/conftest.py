"""A forest over three sentences of different lengths."""

from typing import Any

import pytest

import sparsewood as sp


@pytest.fixture
def forest(draw_trees: Any) -> sp.Forest:
    return sp.Forest.from_heads(*draw_trees("random", [4, 1, 5], 3, 0))
