"""MultiNLI, pairs of many genres, their entailment judged by people. Williams et al. (2018)."""

from pathlib import Path

from sparsewood.lab.data._split import hold_out
from sparsewood.lab.data.columns import read_table
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.snli import COLUMNS, pairs_of

_TESTS = {"matched": "dev_matched", "mismatched": "dev_mismatched"}
_PART = ("label", "sentence1", "sentence2")


def read_mnli(folder: Path) -> dict[str, list[Example]]:
    """The splits of a folder. Pairs without an agreed label ("-") are left out.

    They are `multinli_1.0_{train,dev_matched,dev_mismatched}.jsonl`, or the same with `.txt` (tabs
    and a header); or a part of these, `mnli_train.tsv` and `mnli_val.tsv` (tabs and a header with
    label, sentence1 and sentence2). No labelled test set was published: the published validation
    sets are the tests here, and a tenth of the training split is held out for validation.

    Raises:
        ValueError: if the folder has neither, or at the first malformed line.
    """
    for suffix in (".jsonl", ".txt"):
        train = folder / f"multinli_1.0_train{suffix}"
        tests = {test: folder / f"multinli_1.0_{name}{suffix}" for test, name in _TESTS.items()}
        if train.is_file() and all(path.is_file() for path in tests.values()):
            return _splits(train, tests, COLUMNS)
    train, test = folder / "mnli_train.tsv", folder / "mnli_val.tsv"
    if train.is_file() and test.is_file():
        return _splits(train, {"test": test}, _PART)
    whole = "multinli_1.0_{train,dev_matched,dev_mismatched}.jsonl"
    raise ValueError(
        f"{folder}: expected a folder with {whole}, the same as .txt, or with mnli_train.tsv and "
        "mnli_val.tsv"
    )


def _splits(
    train: Path, tests: dict[str, Path], columns: tuple[str, ...]
) -> dict[str, list[Example]]:
    splits = hold_out(pairs_of(read_table(train, columns), train))
    return splits | {
        test: pairs_of(read_table(path, columns), path) for test, path in tests.items()
    }
