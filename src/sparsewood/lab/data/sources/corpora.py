"""Public corpora."""

from dataclasses import dataclass
from pathlib import Path

from sparsewood.lab._checks import check
from sparsewood.lab.data.examples import Corpus
from sparsewood.lab.data.logic import OPERATORS, TRAINED, read_logic
from sparsewood.lab.data.mnli import read_mnli
from sparsewood.lab.data.sick import read_sick
from sparsewood.lab.data.snli import read_snli
from sparsewood.lab.data.sources.base import Source, existing_folder
from sparsewood.lab.data.sst import read_sst
from sparsewood.lab.data.subj import read_subj

_ENTAILMENT = (
    "Decide whether a premise entails a hypothesis, contradicts it, or does neither: “Two dogs "
    "run” contradicts “The animals are asleep”."
)


@dataclass(frozen=True)
class Sst(Source):
    """The Stanford Sentiment Treebank.

    Attributes:
        data: folder of train.txt, dev.txt and test.txt, labelled trees in brackets.
        fine: five classes instead of two. Two classes leave out neutral sentences.
        phrases: train on all phrases of the trees, not only on whole sentences. Each phrase occurs
            once with each of its labels.
    """

    name = "sst"
    task = "classify"
    example = "--data data/sst --vectors glove.6B.300d.txt"
    asked = (
        "Judge the sentiment of a sentence of a movie review: “A gorgeous, seductive movie” "
        "is positive."
    )

    data: Path
    fine: bool = False
    phrases: bool = False

    def read(self) -> Corpus:
        folder = existing_folder(self.data, "train.txt, dev.txt and test.txt")
        train = read_sst(folder / "train.txt", fine=self.fine, phrases=self.phrases)
        validation = read_sst(folder / "dev.txt", fine=self.fine)
        test = read_sst(folder / "test.txt", fine=self.fine)
        return Corpus("classify", {"train": train, "validation": validation, "test": test})


@dataclass(frozen=True)
class Subj(Source):
    """The subjectivity corpus.

    Attributes:
        data: folder of subj_train.tsv, subj_dev.tsv and subj_test.tsv (label, tokens, heads), the
            fixed split; or of plot.tok.gt9.5000 and quote.tok.gt9.5000, split at random.
        split_seed: seed of the random split.
    """

    name = "subj"
    task = "classify"
    example = "--data data/subj --vectors glove.6B.300d.txt"
    asked = (
        "Decide whether a sentence is subjective or objective: “A smart and witty comedy” is "
        "subjective."
    )

    data: Path
    split_seed: int = 0

    def read(self) -> Corpus:
        folder = existing_folder(self.data, "plot.tok.gt9.5000 and quote.tok.gt9.5000")
        return Corpus("classify", read_subj(folder, seed=self.split_seed))


@dataclass(frozen=True)
class Snli(Source):
    """The Stanford Natural Language Inference corpus.

    Attributes:
        data: folder of snli_1.0_{train,dev,test}.jsonl, the same as .txt, or of s1.*, s2.* and
            labels.*. Without a training split, its folder train20k/ is used.
    """

    name = "snli"
    task = "nli"
    example = "--data data/snli --vectors glove.6B.300d.txt"
    asked = _ENTAILMENT

    data: Path

    def read(self) -> Corpus:
        return Corpus("nli", read_snli(existing_folder(self.data, "snli_1.0_train.jsonl, ...")))


@dataclass(frozen=True)
class Mnli(Source):
    """The Multi-Genre Natural Language Inference corpus.

    Attributes:
        data: folder of multinli_1.0_{train,dev_matched,dev_mismatched}.jsonl, the same as .txt, or
            of mnli_train.tsv and mnli_val.tsv. A tenth of the training split is held out for
            validation.
    """

    name = "mnli"
    task = "nli"
    example = "--data data/mnli --vectors glove.6B.300d.txt"
    asked = _ENTAILMENT

    data: Path

    def read(self) -> Corpus:
        folder = existing_folder(self.data, "multinli_1.0_train.jsonl, ...")
        return Corpus("nli", read_mnli(folder))


@dataclass(frozen=True)
class Sick(Source):
    """SICK, sentences involving compositional knowledge.

    Attributes:
        data: folder of SICK_train.txt, SICK_trial.txt and SICK_test_annotated.txt, or of SICK.txt.
    """

    name = "sick"
    task = "nli"
    example = "--data data/sick --vectors glove.6B.300d.txt"
    asked = _ENTAILMENT

    data: Path

    def read(self) -> Corpus:
        return Corpus("nli", read_sick(existing_folder(self.data, "SICK_train.txt, ...")))


@dataclass(frozen=True)
class Logic(Source):
    """Logical inference: relations of expressions with and, or, not.

    Attributes:
        data: folder of the files train0, test0 and so on, whose numbers count operators.
        max_operators: train on expressions of up to this many operators.
        tests: numbers of operators to test on. Default: all above `max_operators`.
        split_seed: of the tenth of the training examples held out for validation.
    """

    name = "logic"
    task = "nli"
    example = "--data data/logic --preset logic"
    asked = (
        "Decide which of seven logical relations holds between two formulas: “a” entails “a or b”."
    )
    has_heads = True
    operator_words = frozenset(OPERATORS)
    by_operators = True

    data: Path
    max_operators: int = TRAINED
    tests: tuple[int, ...] = ()
    split_seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check(
            self.name,
            self,
            ("max_operators", self.max_operators >= 0, "at least 0"),
            ("tests", min(self.tests, default=0) >= 0, "numbers of at least 0"),
            ("tests", len(set(self.tests)) == len(self.tests), "each once"),
        )
        object.__setattr__(self, "tests", tuple(self.tests))

    def read(self) -> Corpus:
        folder = existing_folder(self.data, "train0, train1, ... and test0, test1, ...")
        splits = read_logic(
            folder, max_operators=self.max_operators, tests=self.tests, seed=self.split_seed
        )
        return Corpus("nli", splits)
