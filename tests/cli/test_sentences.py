import pytest

from sparsewood.cli._sentences import read_sentence
from sparsewood.data import Sentence


def test_sentences_are_tokenised() -> None:
    assert read_sentence("A dog runs.") == Sentence(("A", "dog", "runs", "."))


def test_list_operations_have_their_trees() -> None:
    assert read_sentence("[MAX 2 9 ]") == Sentence(("[MAX", "2", "9", "]"), (0, 1, 1, 1))
    assert read_sentence("[MAX 2 9").heads is None


def test_nothing_is_no_sentence() -> None:
    with pytest.raises(ValueError, match="white space"):
        read_sentence("  ")


def test_an_unknown_parser() -> None:
    with pytest.raises(
        ValueError, match="expected 'spacy', 'spacy:PIPELINE' or the folder .* no folder 'malt'"
    ):
        read_sentence("a dog", "malt")
