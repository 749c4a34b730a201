"""The Stanford Natural Language Inference corpus, in its common formats."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from sparsewood.lab.data._lines import fault, full_lines, sentence
from sparsewood.lab.data._split import hold_out
from sparsewood.lab.data.columns import read_table
from sparsewood.lab.data.examples import Example

LABELS = ("contradiction", "entailment", "neutral")
_NUMBERS = {"1": "neutral", "2": "contradiction", "3": "entailment"}
COLUMNS = ("gold_label", "sentence1", "sentence2")
_Row = tuple[int, Sequence[str]]  # line; label, premise, hypothesis


def read_snli(folder: Path) -> dict[str, list[Example]]:
    """The splits of a folder. Pairs without an agreed label ("-") are left out.

    Each split is read from `snli_1.0_{train,dev,test}.jsonl`, as the same with `.txt` (tabs and a
    header), and as three files side by side: `s1.*` (premises), `s2.*` (hypotheses), `labels.*`.

    A part of the training set in a folder `train20k` replaces a missing training set. Its lines are
    1 (neutral), 2 (contradiction) or 3 (entailment), the same again, premise and hypothesis,
    separated by tabs. Both its files, `train.csv` and `test.csv`, are then trained on. Given as
    `folder` itself, its `test.csv` is the test and a tenth of `train.csv` is held out for
    validation.

    Raises:
        ValueError: if a split is missing, or at the first malformed line.
    """
    if (folder / "train.csv").is_file() and (folder / "test.csv").is_file():
        splits = hold_out(_read_numbered(folder / "train.csv"))
        return splits | {"test": _read_numbered(folder / "test.csv")}
    train = _read_split(folder, "train")
    part = folder / "train20k"
    if train is None and (part / "train.csv").is_file():
        train = _read_numbered(part / "train.csv")
        if (part / "test.csv").is_file():
            train += _read_numbered(part / "test.csv")
    validation, test = _read_split(folder, "dev"), _read_split(folder, "test")
    splits = {"train": train, "validation": validation, "test": test}
    if missing := [name for name, split in splits.items() if split is None]:
        raise ValueError(
            f"{folder}: no {' and no '.join(missing)} split of SNLI; expected "
            "snli_1.0_{train,dev,test}.jsonl, the same as .txt, or s1.*, s2.* and labels.*"
        )
    return {name: split for name, split in splits.items() if split is not None}


def _read_split(folder: Path, name: str) -> list[Example] | None:
    for suffix in (".jsonl", ".txt"):
        path = folder / f"snli_1.0_{name}{suffix}"
        if path.is_file():
            return pairs_of(read_table(path, COLUMNS), path)
    paths = [folder / f"{part}.{name}" for part in ("labels", "s1", "s2")]
    if all(path.is_file() for path in paths):
        return pairs_of(_three_files(paths), paths[0])
    return None


def _three_files(paths: list[Path]) -> list[_Row]:
    columns = [list(full_lines(path)) for path in paths]
    sizes = [len(column) for column in columns]
    if len(set(sizes)) > 1:
        counts = ", ".join(f"{p.name} {size}" for p, size in zip(paths, sizes, strict=True))
        raise ValueError(f"{paths[0].parent}: expected as many lines in each, got {counts}")
    return [
        (number, (label, premise, hypothesis))
        for (number, label), (_, premise), (_, hypothesis) in zip(*columns, strict=True)
    ]


def _read_numbered(path: Path) -> list[Example]:
    rows: list[_Row] = []
    for number, line in full_lines(path):
        columns = line.split("\t")
        if len(columns) != 4 or columns[0] not in _NUMBERS:
            fault(
                path, number, "expected 1, 2 or 3, label, premise and hypothesis separated by tabs"
            )
        rows.append((number, (_NUMBERS[columns[0]], *columns[2:])))
    return pairs_of(rows, path)


def pairs_of(rows: Iterable[_Row], path: Path) -> list[Example]:
    """The pairs in rows of label, premise and hypothesis, without those without a label."""
    examples = []
    for number, (label, *texts) in rows:
        label = label.strip()
        if label == "-":
            continue
        if label not in LABELS:
            fault(path, number, f"label: expected one of {', '.join(LABELS)} or -")
        sides = tuple(sentence(text, path, number) for text in texts)
        examples.append(Example(sides, label))
    return examples
