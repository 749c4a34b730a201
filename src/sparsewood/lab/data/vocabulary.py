"""Words as integers."""

from collections import Counter
from collections.abc import Iterable, Sequence

from sparsewood.lab.data.examples import Sentence

UNKNOWN = "<unk>"


class Vocabulary:
    """A list of words; word i is the integer i, and 0 is every word that is not in the list.

    Args:
        words: distinct words; the first is "<unk>".
        lowercase: convert words to lower case.
    """

    def __init__(self, words: Sequence[str], *, lowercase: bool = True) -> None:
        if not words or words[0] != UNKNOWN:
            raise ValueError(f"words: expected {UNKNOWN!r} first, got {list(words[:1])}")
        self.words = list(words)
        self.lowercase = lowercase
        self._index = {word: i for i, word in enumerate(self.words)}
        if len(self._index) != len(self.words):
            twice = next(word for word, n in Counter(self.words).items() if n > 1)
            raise ValueError(f"words: {twice!r} occurs twice")

    @classmethod
    def build(
        cls, sentences: Iterable[Sentence], *, lowercase: bool = True, min_count: int = 1
    ) -> "Vocabulary":
        """A vocabulary of the words that occur at least `min_count` times, most frequent first."""
        counts: Counter[str] = Counter()
        for sentence in sentences:
            counts.update(word.lower() if lowercase else word for word in sentence.words)
        del counts[UNKNOWN]
        kept = sorted((-n, word) for word, n in counts.items() if n >= min_count)
        return cls([UNKNOWN, *(word for _, word in kept)], lowercase=lowercase)

    def extend(self, words: Iterable[str]) -> None:
        """Append `words`, which must be new."""
        for word in words:
            if word in self._index:
                raise ValueError(f"words: {word!r} is already in the list")
            self._index[word] = len(self.words)
            self.words.append(word)

    def form(self, word: str) -> str:
        """The form under which `word` is looked up."""
        return word.lower() if self.lowercase else word

    def encode(self, words: Iterable[str]) -> list[int]:
        """The integer of each word."""
        return [self._index.get(self.form(word), 0) for word in words]

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return self.form(word) in self._index
