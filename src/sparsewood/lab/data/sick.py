"""SICK: pairs of sentences with human judgements of entailment. Marelli et al. (2014)."""

from collections.abc import Iterable
from pathlib import Path

from sparsewood.lab.data._lines import fault, sentence
from sparsewood.lab.data.columns import header_of, read_table
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.snli import LABELS

_SENTENCES = ("sentence_A", "sentence_B")
_FILES = {"train": "train", "validation": "trial", "test": "test_annotated"}


def read_sick(folder: Path) -> dict[str, list[Example]]:
    """The splits of a folder.

    They are `SICK_train.txt`, `SICK_trial.txt` and `SICK_test_annotated.txt` of the SemEval task
    (tabs, the label under `entailment_judgment`) or those that the column `SemEval_set` of the one
    file `SICK.txt` names (the label under `entailment_label`).

    Raises:
        ValueError: if the folder has neither, or at the first malformed line.
    """
    paths = {split: folder / f"SICK_{name}.txt" for split, name in _FILES.items()}
    if all(path.is_file() for path in paths.values()):
        columns = ("entailment_judgment", *_SENTENCES)
        return {s: _examples(read_table(path, columns), path) for s, path in paths.items()}
    path = folder / "SICK.txt"
    if not path.is_file():
        names = ", ".join(path.name for path in paths.values())
        raise ValueError(f"{folder}: expected a folder with {names}, or with SICK.txt")
    label = "entailment_label" if "entailment_label" in header_of(path) else "entailment_judgment"
    rows = list(read_table(path, ("SemEval_set", label, *_SENTENCES)))
    return {
        split: _examples(
            ((n, row[1:]) for n, row in rows if row[0].lower() == name.partition("_")[0]), path
        )
        for split, name in _FILES.items()
    }


def _examples(rows: Iterable[tuple[int, list[str]]], path: Path) -> list[Example]:
    examples = []
    for number, (label, *texts) in rows:
        if label.lower() not in LABELS:
            fault(path, number, f"label: expected one of {', '.join(LABELS)}")
        sides = tuple(sentence(text, path, number) for text in texts)
        examples.append(Example(sides, label.lower()))
    return examples
