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
        train: file or data set of the Hugging Face hub to train on. A file is .csv, .jsonl or .tsv
            with named columns, .conllu with label comments, or has label and text, or label, tokens
            and heads, separated by tabs; `--delimiter space` reads label, space, text. A data set
            is hf:OWNER/NAME.
        validation: file for validation. Default: a tenth of the training data is held out.
        test: file to test on.
        label: column of the labels. Default: "label".
        text: column of the sentences. Default: "text".
        split_seed: seed of the examples held out.
        delimiter: column delimiter: one character, "tab" or "space". Default: a comma in .csv,
            otherwise a tab. In a file without a header, the first delimiter ends the label and the
            text may contain others, unless it is a tab.
        encoding: text encoding of the files.
        skip_bad: skip and list rows that cannot be read, instead of failing.
        target: target of an example: one class, a number, or any number of labels.
        label_separator: separator between the labels of an example, with --target labels.
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
            raise ValueError(f'label_separator: expected the target "labels", got {self.target!r}')
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
        train: file or data set of the Hugging Face hub to train on. A file is .csv, .jsonl or .tsv
            with named columns, or has label, text and text2 separated by tabs. A data set is
            hf:OWNER/NAME.
        text: column of the premises. Default: "text".
        text2: column of the hypotheses. Default: "text2".
    """

    name = "pairs"
    task = "nli"
    example = "--train train.tsv --test test.tsv"

    text2: str | None = None

    def _texts(self) -> tuple[str | None, ...]:
        return (self.text, self.text2)
