"""Sentences as people type them."""

from collections.abc import Iterable

from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.data.listops import CLOSE, DIGITS, OPERATORS, read_expression
from sparsewood.lab.data.text import WordsOf, tokenize

_TOKENS = frozenset(token.lower() for token in (*OPERATORS, *DIGITS, CLOSE))


def typed_sentence(text: str, words_of: WordsOf = tokenize) -> Sentence:
    """The words of a text, as `words_of` splits it; a list operation has its tree too."""
    if text.lstrip().startswith("["):
        try:
            return read_expression(text)
        except ValueError:
            pass  # a text that begins with a bracket
    return Sentence(words_of(text))


def are_list_operations(words: Iterable[str]) -> bool:
    """Whether the words of a vocabulary are those of list operations, and no others."""
    found = {word.lower() for word in words}
    return found <= _TOKENS and any(operator.lower() in found for operator in OPERATORS)
