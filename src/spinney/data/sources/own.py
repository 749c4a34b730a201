"""A user's own labelled sentences and pairs of sentences."""

from dataclasses import dataclass

from spinney.data.examples import Corpus
from spinney.data.own import read_own_splits
from spinney.data.sources.base import Source


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
    """

    name = "classify"
    task = "classify"

    train: str
    validation: str | None = None
    test: str | None = None
    label: str | None = None
    text: str | None = None
    split_seed: int = 0

    def read(self) -> Corpus:
        files = self.train, self.validation, self.test
        splits = read_own_splits(*files, self.label, (self.text,), self.split_seed)
        return Corpus("classify", splits)


@dataclass(frozen=True)
class Pairs(Source):
    """Your own labelled pairs of sentences.

    Attributes:
        train: a file: .csv, .jsonl or .tsv with named columns, or tabs between label, text and
            text2; or hf:OWNER/NAME.
        validation: the same; if none is given a tenth of the training data is held out.
        test: the same.
        label: the column of the labels, "label" if none is given.
        text: the column of the premises, "text" if none is given.
        text2: the column of the hypotheses, "text2" if none is given.
        split_seed: of what is held out.
    """

    name = "pairs"
    task = "nli"

    train: str
    validation: str | None = None
    test: str | None = None
    label: str | None = None
    text: str | None = None
    text2: str | None = None
    split_seed: int = 0

    def read(self) -> Corpus:
        files = self.train, self.validation, self.test
        splits = read_own_splits(*files, self.label, (self.text, self.text2), self.split_seed)
        return Corpus("nli", splits)
