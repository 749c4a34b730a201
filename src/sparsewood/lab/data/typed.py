"""Sentences as people type them."""

from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.data.listops import heads
from sparsewood.lab.data.text import WordsOf, tokenize


def typed_sentence(text: str, words_of: WordsOf = tokenize) -> Sentence:
    """The words of a text, as `words_of` splits it; a list operation has its tree too."""
    words = tuple(text.split())
    if words and words[0].startswith("["):
        try:
            return Sentence(words, heads(words))
        except ValueError:
            pass  # not a list operation
    return Sentence(words_of(text))
