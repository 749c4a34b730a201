"""Typed sentences."""

import pytest

from sparsewood.lab.data import Sentence
from sparsewood.lab.data.definitions import definition_words
from sparsewood.lab.data.typed import are_list_operations, typed_sentence


def test_texts_are_tokenised() -> None:
    assert typed_sentence("A dog runs.") == Sentence(("A", "dog", "runs", "."))


def test_words_may_be_split_in_another_way() -> None:
    found = typed_sentence("a self-made man", definition_words)
    assert found == Sentence(("a", "self", "-", "made", "man"))


def test_list_operations_have_their_trees() -> None:
    for text in ("[MAX 2 9 ]", " [max 2 9]"):
        found = typed_sentence(text)
        assert (found.words, found.heads) == (("[MAX", "2", "9", "]"), (0, 1, 1, 1))
        assert found.compared == (0, 1, 1, -1)
    assert typed_sentence("[MAX] is a cat").heads is None


@pytest.mark.parametrize(
    ("words", "all_of_them"),
    [
        (("[min", "]", "4", "2"), True),
        (("[MIN", "[MAX", "]", "4"), True),
        (("[min", "]", "4", "cat"), False),
        (("]", "4"), False),
        ((), False),
    ],
)
def test_a_vocabulary_of_list_operations(words: tuple[str, ...], all_of_them: bool) -> None:
    assert are_list_operations(words) == all_of_them
