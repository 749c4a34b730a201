"""The base of all sources: heads, a parser, limits, word vectors."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from sparsewood.lab.data.examples import Corpus, Example
from sparsewood.lab.data.heads_file import attach_heads, count_missing
from sparsewood.lab.data.read_options import TOO_LONG, listed, long_rows
from sparsewood.lab.data.vectors import WordVectors, load_vectors


@dataclass(frozen=True, kw_only=True)
class Source(ABC):
    """Where a corpus and its word vectors come from.

    Attributes:
        heads: files or folders with heads. A line has label, tokens and heads separated by tabs, or
            is CoNLL-U; a sentence gets the tokens and heads of the line with its text, up to white
            space.
        parser: parser of sentences without heads: "spacy", "spacy:PIPELINE" or a folder.
        skip_unparsed: drop training examples with sentences without heads.
        max_length: maximum words of a sentence in training; longer examples are dropped.
        lowercase: convert words to lower case.
        vectors: file of word vectors, or "words" for those of the extra [words]. Without it,
            embeddings are learned.
        min_count: minimum count of a word with a learned embedding.
    """

    name: ClassVar[str]
    task: ClassVar[str]  # with the default options; instances may have another
    example: ClassVar[str]  # options for examples of commands
    asked: ClassVar[str] = ""  # the task in a sentence, if that of its task says less
    unused: ClassVar[tuple[str, ...]] = ()  # fields that do not apply to this source
    has_heads: ClassVar[bool] = False  # whether the data themselves come with heads
    operator_words: ClassVar[frozenset[str]] = frozenset()  # the words that are operators
    by_operators: ClassVar[bool] = False  # whether operators, not words, say how long an example is

    heads: tuple[Path, ...] = ()
    parser: str | None = None
    skip_unparsed: bool = False
    max_length: int | None = None
    lowercase: bool = True
    vectors: str | None = None
    min_count: int = 1

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name in self.unused and getattr(self, field.name) != field.default:
                raise ValueError(f"{field.name}: not an option of the source {self.name}")

    @property
    def length_bins(self) -> tuple[int, ...]:
        """The most words in each of the bins that tests are cut into by length; () for any."""
        return ()

    @classmethod
    def task_of(cls, options: Mapping[str, Any]) -> str:
        """The task of the source with these options, given as JSON."""
        return cls.task

    def load(self) -> Corpus:
        """Read the corpus without parsing it; see `sparsewood.lab.tasks.parsing.load_corpus`.

        Raises:
            ValueError: with the path, line or column of the error.
        """
        if self.max_length is not None and self.max_length < 1:
            raise ValueError(f"max_length: expected at least 1, got {self.max_length}")
        with long_rows() as long:
            corpus = self.read()
        if self.heads:
            corpus = attach_heads(corpus, self.heads)
        train = [example for example in corpus.splits["train"] if self._is_kept(example)]
        if corpus.splits["train"] and not train:
            raise ValueError(
                f"all training examples were dropped: max_length is {self.max_length}, "
                f"skip_unparsed {'on' if self.skip_unparsed else 'off'}"
            )
        left_out = len(corpus.splits["train"]) - len(train)
        corpus = replace(corpus, splits=corpus.splits | {"train": train}, left_out=left_out)
        _tell_of_long(corpus, long)
        return corpus

    def _is_kept(self, example: Example) -> bool:
        limit = self.max_length
        if limit is not None and any(len(s.words) > limit for s in example.sentences):
            return False
        # A parser will supply missing heads.
        return not self.skip_unparsed or self.parser is not None or not count_missing([example])

    @abstractmethod
    def read(self) -> Corpus:
        """The corpus before heads are added and long examples dropped."""

    def load_vectors(self, words: Iterable[str]) -> WordVectors | None:
        """The vectors of the `words` that have one; None if embeddings are learned."""
        if self.vectors is None:
            return None
        vectors = load_vectors(self.vectors, words, progress=True)
        if not len(vectors):
            raise ValueError(f"{self.vectors}: has no vector for any word of the data")
        return vectors


def _tell_of_long(corpus: Corpus, long: list[tuple[str, int]]) -> None:
    """Warn about long rows that are still in the corpus, with their line numbers.

    Raises:
        ValueError: at the first row that is too long for a sentence.
    """
    lengths = {len(sentence.words) for sentence in corpus.sentences()}
    kept = [(place, words) for place, words in long if words in lengths]
    for place, words in kept:
        if words > TOO_LONG:
            raise ValueError(
                f"{place}: {words:,} words; expected a sentence of at most {TOO_LONG:,}; split it, "
                "or drop it from training with --max-length"
            )
    told = [f"{place}: {words:,} words" for place, words in kept]
    if told:
        warnings.warn(
            f"{listed(told)}: time and memory grow faster than the square of the length; "
            "--max-length drops longer examples from training",
            stacklevel=3,
        )


def existing_folder(path: Path, expected: str) -> Path:
    """`path`; raises ValueError with the expected contents if it is not a folder."""
    if not path.is_dir():
        raise ValueError(f"{path}: no such folder; expected one with {expected}")
    return path
