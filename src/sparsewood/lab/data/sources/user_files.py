"""A user's own labelled sentences and pairs of sentences."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from sparsewood._internal.numbers import check_choice
from sparsewood.lab.data.examples import Corpus, TargetKind, task_name
from sparsewood.lab.data.read_options import ReadOptions
from sparsewood.lab.data.sources.base import Source
from sparsewood.lab.data.user_files import read_own_splits

_SEPARATOR = ReadOptions.label_separator


@dataclass(frozen=True)
class Classify(Source):
    """Your own labelled sentences.

    Attributes:
        train: a file: .csv, .jsonl or .tsv with named columns, .conllu with label comments, tabs
            between label and text, or between label, tokens and heads; or hf:OWNER/NAME. Lines of
            label, space, text need --delimiter space.
        validation: the same; if none is given a tenth of the training data is held out.
        test: the same.
        label: the column of the labels, "label" if none is given.
        text: the column of the sentences, "text" if none is given.
        split_seed: of what is held out.
        delimiter: between the columns of files that are no .jsonl or .conllu, one character, "tab"
            or "space"; a comma in .csv and a tab in others if none is given. Of a file without a
            header the first one ends the label and the text may hold others, unless it is a tab.
        encoding: of the files.
        skip_bad: pass over rows that cannot be read, and list them; otherwise the first one is an
            error.
        target: class, number or labels: what examples are labelled with. One class each; a number,
            to be predicted as such; or any number of labels, also none.
        label_separator: between the labels of an example, with the target "labels".
    """

    name = "classify"
    task = "classify"
    example = "--train train.csv --label stars --text review"

    train: str
    validation: str | None = None
    test: str | None = None
    label: str | None = None
    text: str | None = None
    split_seed: int = 0
    delimiter: str | None = None
    encoding: str = "utf-8"
    skip_bad: bool = False
    target: Annotated[TargetKind, "KIND"] = field(default="class", kw_only=True)
    label_separator: str = field(default=_SEPARATOR, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("target", self.target, TargetKind)
        if self.label_separator != _SEPARATOR and self.target != "labels":
            raise ValueError(f'label_separator: is for the target "labels", got {self.target!r}')
        object.__setattr__(self, "task", self.task_of(vars(self)))

    @classmethod
    def task_of(cls, options: Mapping[str, Any]) -> str:
        return task_name(cls.task, options.get("target", "class"))

    def read(self) -> Corpus:
        files = self.train, self.validation, self.test
        how = ReadOptions(
            self.encoding, self.delimiter, self.skip_bad, self.target, self.label_separator
        )
        splits = read_own_splits(*files, self.label, self._texts(), self.split_seed, how)
        return Corpus(self.task, splits)

    def _texts(self) -> tuple[str | None, ...]:
        return (self.text,)


@dataclass(frozen=True)
class Pairs(Classify):
    """Your own labelled pairs of sentences.

    Attributes:
        train: a file: named columns, or label, text and text2 between tabs; columns have names in
            .csv, .jsonl and .tsv. Or hf:OWNER/NAME.
        text: the column of the premises, "text" if none is given.
        text2: the column of the hypotheses, "text2" if none is given.
    """

    name = "pairs"
    task = "nli"
    example = "--train train.tsv --test test.tsv"

    text2: str | None = None

    def _texts(self) -> tuple[str | None, ...]:
        return (self.text, self.text2)
