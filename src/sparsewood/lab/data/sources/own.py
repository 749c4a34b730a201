"""A user's own labelled sentences and pairs of sentences."""

from dataclasses import dataclass

from sparsewood.lab.data.examples import Corpus
from sparsewood.lab.data.own import read_own_splits
from sparsewood.lab.data.reading import Reading
from sparsewood.lab.data.sources.base import Source


@dataclass(frozen=True)
class Classify(Source):
    """Your own labelled sentences.

    Attributes:
        train: a file: .csv, .jsonl or .tsv with named columns, .conllu with label comments, tabs
            between label and text, or between label, tokens and heads; or hf:OWNER/NAME.
        validation: the same; if none is given a tenth of the training data is held out.
        test: the same.
        label: the column of the labels, "label" if none is given.
        text: the column of the sentences, "text" if none is given.
        split_seed: of what is held out.
        delimiter: between the columns of files that are no .jsonl or .conllu, one character or
            "tab"; a comma in .csv and a tab in others if none is given.
        encoding: of the files.
        skip_bad: pass over rows that cannot be read, and list them; otherwise the first one is an
            error.
    """

    name = "classify"
    task = "classify"

    train: str
    validation: str | None = None
    test: str | None = None
    label: str | None = None
    text: str | None = None
    split_seed: int = 0
    delimiter: str | None = None
    encoding: str = "utf-8"
    skip_bad: bool = False

    def read(self) -> Corpus:
        files = self.train, self.validation, self.test
        how = Reading(self.encoding, self.delimiter, self.skip_bad)
        splits = read_own_splits(*files, self.label, self._texts(), self.split_seed, how)
        return Corpus(self.task, splits)

    def _texts(self) -> tuple[str | None, ...]:
        return (self.text,)


@dataclass(frozen=True)
class Pairs(Classify):
    """Your own labelled pairs of sentences.

    Attributes:
        train: a file: .csv, .jsonl or .tsv with named columns, or tabs between label, text and
            text2; or hf:OWNER/NAME.
        text: the column of the premises, "text" if none is given.
        text2: the column of the hypotheses, "text2" if none is given.
    """

    name = "pairs"
    task = "nli"

    text2: str | None = None

    def _texts(self) -> tuple[str | None, ...]:
        return (self.text, self.text2)
