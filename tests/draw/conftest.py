"""Trees to draw."""

from collections.abc import Callable

import pytest
from hypothesis import strategies as st


@st.composite
def heads_of_trees(draw: st.DrawFn, max_words: int = 60) -> list[int]:
    """The heads of any tree, possibly non-projective and with several roots."""
    n = draw(st.integers(1, max_words))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for k, word in enumerate(order):
        place = draw(st.integers(0, k))  # the root, or a word that is in the tree already
        heads[word - 1] = 0 if place == 0 else order[place - 1]
    return heads


@pytest.fixture(scope="session")
def tree_heads() -> Callable[..., st.SearchStrategy[list[int]]]:
    """(max_words) -> the strategy that draws the heads of a tree."""
    return heads_of_trees
