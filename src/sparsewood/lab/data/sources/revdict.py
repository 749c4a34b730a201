"""Dictionaries: definitions and the words they define."""

from dataclasses import dataclass, field
from pathlib import Path

from sparsewood.lab.data.definitions import Dictionary, read_dictionary
from sparsewood.lab.data.examples import Corpus
from sparsewood.lab.data.sources.base import Source, existing_folder
from sparsewood.lab.data.wordnet import find_wordnet, is_wordnet, read_wordnet


@dataclass(frozen=True)
class RevDict(Source):
    """A reverse dictionary: from definitions to words.

    Attributes:
        data: folder of WordNet or of definitions. Default: an installed WordNet. WordNet has
            data.noun, data.verb, data.adj and data.adv; definitions are a file *definitions.tsv
            (lemmas, definition, part of speech), with tests as JSON and output_shortlist.txt.
        split_seed: seed of the examples held out.
    """

    name = "revdict"
    task = "revdict"
    example = "--max-length 30"

    data: Path | None = None
    split_seed: int = 0
    vectors: str | None = field(default="words", kw_only=True)

    def read(self) -> Corpus:
        path = find_wordnet() if self.data is None else self.data
        options = {"lowercase": self.lowercase, "seed": self.split_seed}
        if is_wordnet(path):
            dictionary = Dictionary(read_wordnet(path), **options)
        else:
            folder = existing_folder(path, "WordNet's data.noun, ... or *definitions.tsv")
            dictionary = read_dictionary(folder, **options)
        words = dictionary.candidates()
        vectors = self.load_vectors(words)
        # A word without a vector can be neither learned nor predicted.
        return dictionary.corpus([w for w in words if vectors is None or w in vectors])
