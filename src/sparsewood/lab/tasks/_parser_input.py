"""Sentences as a parser reads them: known words, rows of word vectors, spellings."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.data.vocabulary import Vocabulary

_PADDING, _UNKNOWN, _START, _END = range(4)  # characters that are none
_FIRST = 4  # the integer of the first character that is one
_SPELLED = 24  # characters of a word that are read: of a longer one, the first and the last half


@dataclass(frozen=True)
class ParserBatch:
    """Sentences as integers.

    Attributes:
        words: (B, n) int64, the words of training; 0 is any other word, and padding.
        rows: (B, n) int64, rows of the table of word vectors; 0 where a word has none.
        spellings: (U, c) int64, the characters of the distinct words of the batch; 0 is padding.
        spelled: (B, n) int64, which of `spellings` each word has.
        lengths: (B,) int64, on the CPU.
        heads: (B, n) int64, -1 beyond the lengths; None unless every sentence has heads.
    """

    words: Tensor
    rows: Tensor
    spellings: Tensor
    spelled: Tensor
    lengths: Tensor
    heads: Tensor | None

    def to(self, device: torch.device | str) -> "ParserBatch":
        """The same on `device`, but for the lengths."""
        return ParserBatch(
            self.words.to(device),
            self.rows.to(device),
            self.spellings.to(device),
            self.spelled.to(device),
            self.lengths,
            None if self.heads is None else self.heads.to(device),
        )


class ParserInput:
    """From sentences to batches.

    Args:
        words: those that training has seen often enough; the first is "<unk>".
        vector_words: those with a vector; the first is "<unk>", with none.
        characters: those of the words of training.
    """

    def __init__(
        self, words: Sequence[str], vector_words: Sequence[str], characters: Sequence[str]
    ) -> None:
        self.words = Vocabulary(words)
        self.vector_words = Vocabulary(vector_words)
        self.characters = list(characters)
        self._index = {c: i for i, c in enumerate(characters, _FIRST)}

    @property
    def alphabet(self) -> int:
        """How many integers stand for characters."""
        return _FIRST + len(self.characters)

    def batch(self, sentences: Sequence[Sentence]) -> ParserBatch:
        """The sentences as one padded batch."""
        lengths = torch.tensor([len(s.words) for s in sentences])
        distinct = {word: i for i, word in enumerate({w: None for s in sentences for w in s.words})}
        heads = [s.heads for s in sentences if s.heads is not None]
        return ParserBatch(
            _pad([self.words.encode(s.words) for s in sentences], 0),
            _pad([self.vector_words.encode(s.words) for s in sentences], 0),
            _pad([self._spell(word) for word in distinct], _PADDING),
            _pad([[distinct[w] for w in s.words] for s in sentences], 0),
            lengths,
            _pad(heads, -1) if len(heads) == len(sentences) else None,
        )

    def _spell(self, word: str) -> list[int]:
        if len(word) > _SPELLED:
            word = word[: _SPELLED // 2] + word[-_SPELLED // 2 :]
        return [_START, *(self._index.get(c, _UNKNOWN) for c in word), _END]


def characters_of(sentences: Iterable[Sentence], min_count: int = 2) -> list[str]:
    """The characters that occur at least `min_count` times, in their own order."""
    counts = Counter(c for sentence in sentences for word in sentence.words for c in word)
    return sorted(c for c, n in counts.items() if n >= min_count)


def _pad(sequences: Sequence[Sequence[int]], padding: int) -> Tensor:
    width = max(map(len, sequences))
    return torch.tensor([[*s, *[padding] * (width - len(s))] for s in sequences])
