"""How many words a parser attaches to the right head."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from sparsewood.lab.data.examples import Sentence


@dataclass
class Attachment:
    """Unlabelled attachment over sentences, with and without punctuation.

    Punctuation is what CoNLL-X says: a word all of whose characters are punctuation by Unicode.

    Attributes:
        words, attached: all words, and those whose head is right.
        scored, scored_attached: the same without punctuation.
        sentences, exact: all sentences, and those whose heads are all right.
    """

    words: int = 0
    attached: int = 0
    scored: int = 0
    scored_attached: int = 0
    sentences: int = 0
    exact: int = 0

    def add(self, gold: Sentence, heads: Sequence[int]) -> None:
        """Take one more sentence into account, whose heads are known, and what was predicted."""
        if gold.heads is None or len(heads) != len(gold.heads):
            known = "no" if gold.heads is None else f"{len(gold.heads)}"
            raise ValueError(f"a sentence of {known} known heads, {len(heads)} predicted")
        right = [a == b for a, b in zip(gold.heads, heads, strict=True)]
        kept = [r for r, word in zip(right, gold.words, strict=True) if not is_punctuation(word)]
        self.words += len(right)
        self.attached += sum(right)
        self.scored += len(kept)
        self.scored_attached += sum(kept)
        self.sentences += 1
        self.exact += all(right)

    def values(self) -> dict[str, float]:
        """In percent: `uas`, `uas_without_punctuation`, `exact`; empty when nothing was added."""
        if not self.sentences:
            return {}
        return {
            "uas": 100.0 * self.attached / self.words,
            "uas_without_punctuation": 100.0 * self.scored_attached / max(self.scored, 1),
            "exact": 100.0 * self.exact / self.sentences,
        }


def is_punctuation(word: str) -> bool:
    """Whether every character of `word` is punctuation by its Unicode category."""
    return all(unicodedata.category(c).startswith("P") for c in word)
