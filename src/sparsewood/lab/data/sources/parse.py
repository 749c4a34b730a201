"""Treebanks."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sparsewood.lab.data.conllu import read_treebank
from sparsewood.lab.data.examples import Corpus, Example
from sparsewood.lab.data.sources.base import Source, existing_folder
from sparsewood.lab.data.vectors import WordVectors, load_vectors

_FILES = {"train": "train", "validation": "dev", "test": "test"}


@dataclass(frozen=True)
class Parse(Source):
    """A treebank, for a dependency parser.

    Attributes:
        data: folder of *train.conllu, *dev.conllu and *test.conllu (extra [conllu]).
        keep_vectors: number of first vectors of the file to keep. They serve words of other texts,
            beside those of the treebank.
    """

    name = "parse"
    task = "parse"
    example = "--data data/ud_ewt --vectors glove.6B.300d.txt"
    unused = ("heads", "parser", "skip_unparsed", "lowercase")

    data: Path
    keep_vectors: int = 25_000
    min_count: int = field(default=2, kw_only=True)

    def read(self) -> Corpus:
        folder = existing_folder(self.data, "*train.conllu, *dev.conllu and *test.conllu")
        paths = {split: self._file(folder, name) for split, name in _FILES.items()}
        return Corpus(
            self.task,
            {
                split: [Example((sentence,)) for sentence in read_treebank(path)]
                for split, path in paths.items()
            },
        )

    def _file(self, folder: Path, name: str) -> Path:
        found = sorted(folder.glob(f"*{name}.conllu"))
        if len(found) != 1:
            names = ", ".join(path.name for path in found) or "none"
            raise ValueError(f"{folder}: expected one file *{name}.conllu, found {names}")
        return found[0]

    def load_vectors(self, words: Iterable[str]) -> WordVectors | None:
        if self.vectors is None:
            return None
        vectors = load_vectors(self.vectors, None, progress=True)
        wanted = {form for word in words for form in (word, word.lower())}
        first = vectors.words[: self.keep_vectors]
        kept = [*first, *(word for word in vectors.words[len(first) :] if word in wanted)]
        return WordVectors(vectors.size, kept, vectors.lookup(kept), self.vectors)
