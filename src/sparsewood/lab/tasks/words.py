"""The words of a model: its vocabulary, their embeddings, and a file with more of them."""

import warnings
from collections.abc import Iterable, Sequence, Set

import torch
from torch import Tensor, nn

from sparsewood.lab.data.typed import are_list_operations
from sparsewood.lab.data.vectors import VectorReference, WordVectors, load_vectors
from sparsewood.lab.data.vocabulary import Vocabulary
from sparsewood.lab.tasks.pretrained import PretrainedEncoder
from sparsewood.lab.tasks.subwords import SubWords
from sparsewood.nn.encoder import SentenceEncoder

_LOOKS = 8  # look-ups in a file of vectors before all of it is loaded
_FORGOTTEN = 100_000  # maximum number of remembered words without a vector


class WordModel(nn.Module):
    """A module that reads words.

    Args:
        encoder: an encoder with an embedding per word of the vocabulary, or a pretrained one.
        vocabulary: the words.
        vectors: the file that initialised the embeddings, if any.
        tuned: whether training changes given vectors.
        second: another encoder, with its own embeddings of the same words.
    """

    def __init__(
        self,
        encoder: SentenceEncoder | PretrainedEncoder,
        vocabulary: Vocabulary,
        vectors: VectorReference | None,
        *,
        tuned: bool,
        second: SentenceEncoder | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.second = second
        self.vocabulary = vocabulary
        self.vectors = vectors
        self._tuned = tuned
        self._without: set[str] = set()  # words without a vector in the file
        self._reachable: bool | None = None  # whether the file is unchanged; None: unchecked
        self._looks = 0  # how often the file was read
        self._table: WordVectors | None = None  # the whole file, once it was read often

    def read_words(self, sentences: Sequence[Sequence[str]]) -> None:
        """Look up unknown words, and warn about sentences without any known word."""
        self.take_in(word for words in sentences for word in words)
        self._warn_of_unknown(sentences)

    def set_vectors(self, vectors: Tensor) -> None:
        """Initialise the embeddings with (V, embedding) vectors, which are fixed unless tuned."""
        for encoder in self._encoders:
            weight = encoder.embedding.weight
            if vectors.shape != weight.shape:
                raise ValueError(
                    f"vectors: expected {tuple(weight.shape)} for {len(self.vocabulary)} words of "
                    f"size {weight.shape[1]}, got {tuple(vectors.shape)}"
                )
            with torch.no_grad():
                weight.copy_(self.embedded(vectors))
            weight.requires_grad_(self._tuned)

    @property
    def reads_operations(self) -> bool:
        """Whether the vocabulary has only words of list operations."""
        return are_list_operations(self.vocabulary.words[1:])

    @property
    def _encoders(self) -> list[SentenceEncoder]:
        """The encoders with embeddings."""
        both = (self.encoder, self.second)
        return [encoder for encoder in both if isinstance(encoder, SentenceEncoder)]

    @property
    def split_words(self) -> SubWords | None:
        """The splitter into sub-words of a pretrained encoder; None without one."""
        return self.encoder.split if isinstance(self.encoder, PretrainedEncoder) else None

    def embedded(self, vectors: Tensor) -> Tensor:
        """The initial embeddings for these vectors (words, embedding)."""
        return vectors

    def take_in(self, words: Iterable[str]) -> None:
        """Look up words outside the vocabulary in the file of word vectors.

        Words found are added to the vocabulary. Fixed vectors are those that training would have
        used; if vectors were fine-tuned, the original vector is the best available guess.
        """
        text = [self.vocabulary.form(word) for word in words]
        new = {w for w in text if w not in self.vocabulary} - self._without
        if self.vectors is None or not new or self._reachable is False:
            return
        problem = None if self._reachable else self.vectors.problem()
        self._reachable = problem is None
        if problem is not None:
            lost = sum(word in new for word in text)
            warnings.warn(
                f"{self.vectors.name}: the file of word vectors {problem}; words outside the "
                f"vocabulary stay unknown, {lost} of {len(text)} here "
                f"({100 * lost / len(text):.1f} %)",
                stacklevel=4,
            )
            return
        table = self._vectors_of(new, self.vectors.name)
        found = sorted(word for word in new if word in table)
        self.vocabulary.extend(found)
        if len(self._without) > _FORGOTTEN:
            self._without.clear()
        self._without |= new.difference(found)
        for encoder in self._encoders:
            old = encoder.embedding.weight
            with torch.inference_mode(False), torch.no_grad():
                rows = self.embedded(table.lookup(found)).to(old)
                encoder.embedding = nn.Embedding.from_pretrained(
                    torch.cat([old, rows]), freeze=not old.requires_grad
                )

    def _vectors_of(self, words: Set[str], name: str) -> WordVectors:
        self._looks += 1
        if self._table is None and self._looks > _LOOKS:
            self._table = load_vectors(name, None)
        return self._table or load_vectors(name, words, cache=False)

    def unknown(self, words: Iterable[str]) -> list[str]:
        """The `words` that are unknown to the model: without an embedding, or with one of zeros.

        With a pretrained encoder, only words without a sub-word are unknown.
        """
        text = list(words)
        if self.split_words is not None:
            never = self.split_words.unknown(text)
            text = [word for word in text if word in never]
        if not self._encoders:
            return text
        index = self.vocabulary.encode(text)
        distinct = sorted(set(index))  # a few rows of a large vocabulary
        rows = self._encoders[0].embedding.weight.detach()[distinct]
        known = dict(zip(distinct, (rows != 0).any(-1).tolist(), strict=True)) | {0: False}
        return [word for word, i in zip(text, index, strict=True) if not known[i]]

    def _warn_of_unknown(self, sentences: Sequence[Sequence[str]]) -> None:
        unknown = set(self.unknown({word for words in sentences for word in words}))
        blank = [words for words in sentences if unknown.issuperset(words)]
        if blank:
            words = " ".join(blank[0])
            which = "the sentence" if len(sentences) == 1 else f"{len(blank)} of {len(sentences)}"
            which += "" if len(sentences) == 1 else " sentences, the first being"
            warnings.warn(f"no word of {which} {words[:60]!r} is in the vocabulary", stacklevel=4)
