"""Labels from the cells of a table: a class, a number, or any number of labels."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from sparsewood.lab.data._lines import fault
from sparsewood.lab.data.examples import Example, Sentence, TargetKind
from sparsewood.lab.data.read_options import STRICT, ReadOptions
from sparsewood.lab.data.text import is_number


def labelled(
    sentences: Iterable[Sentence], cell: str, path: Path | str, line: int, how: ReadOptions = STRICT
) -> Example:
    """The example of a row with the label in `cell`.

    Raises:
        ValueError: if the cell does not fit `how.target`, with the line: an empty class, or not a
            finite number. An empty cell means no labels.
    """
    label = cell.strip()
    if how.target == "labels":
        parts = (part.strip() for part in label.split(how.label_separator))
        return Example(tuple(sentences), labels=tuple(dict.fromkeys(filter(None, parts))))
    if not label:
        fault(path, line, "an empty label")
    if how.target == "number" and not is_finite(label):
        fault(path, line, "label: expected a finite number")
    return Example(tuple(sentences), label)


def joined(labels: Sequence[object], path: Path | str, line: int, how: ReadOptions) -> str:
    """A list of labels as one cell.

    Raises:
        ValueError: if a label is not a text or contains the separator, with the line.
    """
    for label in labels:
        if not isinstance(label, str):
            fault(path, line, f"label: expected a list of texts, got {type(label).__name__} in it")
        if how.label_separator in label:
            fault(path, line, f"a label contains {how.label_separator!r}; set --label-separator")
    return how.label_separator.join(str(label) for label in labels)


def is_finite(text: str) -> bool:
    """Whether the text is a finite number."""
    return is_number(text) and math.isfinite(float(text))


def classes_of(example: Example, target: TargetKind) -> tuple[str, ...]:
    """The labels that must be in training; empty for a number."""
    return () if target == "number" else example.names
