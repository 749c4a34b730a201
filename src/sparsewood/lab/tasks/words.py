"""The words that a model knows: its vocabulary, their embeddings, and a file with more of them."""

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

_LOOKS = 8  # into a file of vectors for some words, before all of it is read and kept
_FORGOTTEN = 100_000  # words without a vector, of which no more are remembered


class WordModel(nn.Module):
    """What reads words, whichever task it is for.

    Args:
        encoder: with an embedding for each word of the vocabulary, or pretrained.
        vocabulary: the words.
        vectors: the file that the embeddings started from, if any.
        tuned: whether training changes vectors that are given.
        second: another encoder, with embeddings of its own for the same words.
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
        self._without: set[str] = set()  # words that the file has no vectors for
        self._reachable: bool | None = None  # whether it is as it was; None before the first look
        self._looks = 0  # how often it was read
        self._table: WordVectors | None = None  # all of it, once it was read often

    def read_words(self, sentences: Sequence[Sequence[str]]) -> None:
        """Take the words in, and warn of sentences none of whose words is known."""
        self.take_in(word for words in sentences for word in words)
        self._warn_of_unknown(sentences)

    def set_vectors(self, vectors: Tensor) -> None:
        """Start the embeddings from (V, embedding) pretrained vectors, fixed unless tuned."""
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
        """Whether sentences are list operations, and nothing else, as the vocabulary has it."""
        return are_list_operations(self.vocabulary.words[1:])

    @property
    def _encoders(self) -> list[SentenceEncoder]:
        """Those with embeddings."""
        both = (self.encoder, self.second)
        return [encoder for encoder in both if isinstance(encoder, SentenceEncoder)]

    @property
    def split_words(self) -> SubWords | None:
        """What splits words for a pretrained encoder; None without one."""
        return self.encoder.split if isinstance(self.encoder, PretrainedEncoder) else None

    def embedded(self, vectors: Tensor) -> Tensor:
        """The embeddings that start from these vectors (words, embedding)."""
        return vectors

    def take_in(self, words: Iterable[str]) -> None:
        """Look words that are outside the vocabulary up in the file of word vectors.

        Those that it holds join the vocabulary. Fixed vectors are what training would have used;
        where vectors were tuned, the untuned one is the best guess there is.
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
        """Those of `words` that the model knows nothing of: no embedding, or one of zeros.

        To a pretrained encoder only those are unknown that it has no sub-word for.
        """
        text = list(words)
        if self.split_words is not None:
            never = self.split_words.unknown(text)
            text = [word for word in text if word in never]
        if not self._encoders:
            return text
        index = self.vocabulary.encode(text)
        distinct = sorted(set(index))  # few of a large vocabulary, where one sentence is asked for
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
            warnings.warn(f"no word is known of {which} {words[:60]!r}", stacklevel=4)
