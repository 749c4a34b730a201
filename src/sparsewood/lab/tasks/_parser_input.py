"""The input of a parser: known words, rows of word vectors, spellings."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sparsewood._internal.host import host_copy, move
from sparsewood.lab.data.batches import padded
from sparsewood.lab.data.examples import Example, Sentence
from sparsewood.lab.data.vocabulary import Vocabulary
from sparsewood.lab.data.windows import Splitter, padded_windows, subwords_in
from sparsewood.lab.data.word_states import WordStates

_PADDING, _UNKNOWN, _START, _END = range(4)  # integers of special symbols
_FIRST = 4  # integer of the first character
_SPELLED = 24  # maximum characters of a word: of a longer one, the first and last half


@dataclass(frozen=True)
class ParserBatch:
    """Sentences as integers.

    Attributes:
        rows: (B,) int64, on the CPU: which examples of the split these are.
        words: (B, n) int64, words of the vocabulary; 0 is any other word, and padding.
        vectors: (B, n) int64, rows of the table of word vectors; 0 for a word without a vector.
        spellings: (U, c) int64, the characters of the distinct words of the batch; 0 is padding.
        spelled: (B, n) int64, which of `spellings` each word has.
        punctuation: (B, n) bool, the words that are punctuation.
        lengths: (B,) int64.
        heads: (B, n) int64, -1 beyond the lengths; None unless every sentence has heads.
        subwords, owners, states: as `PaddedSentences` has them, for a pretrained encoder.
    """

    rows: Tensor
    words: Tensor
    vectors: Tensor
    spellings: Tensor
    spelled: Tensor
    punctuation: Tensor
    lengths: Tensor
    heads: Tensor | None
    subwords: Tensor | None = None
    owners: Tensor | None = None
    states: Tensor | None = None

    @property
    def units(self) -> int:
        """The number of words: the loss is a mean over them."""
        return int(host_copy(self.lengths).sum())

    def to(self, device: torch.device | str) -> "ParserBatch":
        """The same batch on `device`, except the rows, moved in one transfer."""
        tables = {k: x for k, x in vars(self).items() if k != "rows" and x is not None}
        moved = move(list(tables.values()), device)
        return replace(self, **dict(zip(tables, moved, strict=True)))


class ParserSplit:
    """The examples of a split, for a parser.

    Args:
        examples: examples of one sentence each.
        reader: makes the batches.
        by_subwords: whether `sizes` counts sub-words.
    """

    def __init__(
        self, examples: Sequence[Example], reader: "ParserInput", *, by_subwords: bool = False
    ) -> None:
        for row, example in enumerate(examples):
            if len(example.sentences) != 1:
                raise ValueError(f"example {row}: {len(example.sentences)} sentences, expected one")
        self.examples = examples
        self.lengths = [len(example.sentences[0].words) for example in examples]
        self.states: WordStates | None = None
        self._reader, self.sizes = reader, self.lengths
        split = reader.split_words
        if by_subwords and split is not None:
            self.sizes = [subwords_in(split(e.sentences[0].words)) for e in examples]

    def batch(self, rows: Sequence[int]) -> ParserBatch:
        """The examples `rows` as one padded batch."""
        sentences = [self.examples[row].sentences[0] for row in rows]
        return self._reader.batch(sentences, rows, self.states)

    def units(self, rows: Sequence[int]) -> int:
        """The number of words of the examples `rows`: the loss is a mean over them."""
        return sum(self.lengths[row] for row in rows)


class ParserInput:
    """Makes batches of sentences.

    Args:
        words: the frequent words of the training split; the first is "<unk>".
        vector_words: the words with a vector; the first is "<unk>", without one.
        characters: the characters of the words of the training split.
        split_words: splits words into sub-words, for a pretrained encoder.
    """

    def __init__(
        self,
        words: Sequence[str],
        vector_words: Sequence[str],
        characters: Sequence[str],
        split_words: Splitter | None = None,
    ) -> None:
        self.words = Vocabulary(words)
        self.vector_words = Vocabulary(vector_words)
        self.characters = list(characters)
        self.split_words = split_words
        self._index = {c: i for i, c in enumerate(characters, _FIRST)}

    @property
    def alphabet(self) -> int:
        """The number of integers for characters."""
        return _FIRST + len(self.characters)

    def batch(
        self,
        sentences: Sequence[Sentence],
        rows: Sequence[int] | None = None,
        kept: WordStates | None = None,
    ) -> ParserBatch:
        """The sentences of the examples `rows` of a split, as one padded batch.

        With the outputs of the encoder, if they are `kept`; otherwise with sub-words.
        """
        lengths = torch.tensor([len(s.words) for s in sentences])
        distinct = {word: i for i, word in enumerate({w: None for s in sentences for w in s.words})}
        heads = [s.heads for s in sentences if s.heads is not None]
        subwords, owners, states = None, None, None
        if kept is not None:
            states = kept.batch([s.words for s in sentences])
        elif self.split_words is not None:
            windows = [self.split_words(s.words) for s in sentences]
            subwords, owners = padded_windows(windows, int(lengths.max()))
        return ParserBatch(
            torch.tensor(range(len(sentences)) if rows is None else rows),
            padded([self.words.encode(s.words) for s in sentences], 0),
            padded([self.vector_words.encode(s.words) for s in sentences], 0),
            padded([self._spell(word) for word in distinct], _PADDING),
            padded([[distinct[w] for w in s.words] for s in sentences], 0),
            padded([[is_punctuation(w) for w in s.words] for s in sentences], False),
            lengths,
            padded(heads, -1) if len(heads) == len(sentences) else None,
            subwords,
            owners,
            states,
        )

    def _spell(self, word: str) -> list[int]:
        if len(word) > _SPELLED:
            word = word[: _SPELLED // 2] + word[-_SPELLED // 2 :]
        return [_START, *(self._index.get(c, _UNKNOWN) for c in word), _END]


def characters_of(sentences: Iterable[Sentence], min_count: int = 2) -> list[str]:
    """The characters that occur at least `min_count` times, sorted."""
    counts = Counter(c for sentence in sentences for word in sentence.words for c in word)
    return sorted(c for c, n in counts.items() if n >= min_count)


def is_punctuation(word: str) -> bool:
    """Whether every character of `word` is punctuation by its Unicode category (CoNLL-X)."""
    return all(unicodedata.category(c).startswith("P") for c in word)
