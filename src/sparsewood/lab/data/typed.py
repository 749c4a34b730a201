"""Typed sentences."""

from collections.abc import Iterable

from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.data.listops import CLOSE, DIGITS, OPERATORS, read_expression
from sparsewood.lab.data.text import WordsOf, tokenize

_TOKENS = frozenset(token.lower() for token in (*OPERATORS, *DIGITS, CLOSE))


def typed_sentence(text: str, words_of: WordsOf = tokenize) -> Sentence:
    """The words of a text, split by `words_of`; a list operation also has its tree."""
    if text.lstrip().startswith("["):
        try:
            return read_expression(text)
        except ValueError:
            pass  # a text that begins with a bracket
    return Sentence(words_of(text))


def are_list_operations(words: Iterable[str]) -> bool:
    """Whether all words of a vocabulary are tokens of list operations."""
    found = {word.lower() for word in words}
    return found <= _TOKENS and any(operator.lower() in found for operator in OPERATORS)
