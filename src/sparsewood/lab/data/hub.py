"""Data sets of the Hugging Face hub, read with the package `datasets`."""

from collections.abc import Sequence
from typing import Any

from sparsewood.lab._extras import require
from sparsewood.lab.data._lines import fault, sentence
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.labels import joined, labelled
from sparsewood.lab.data.read_options import STRICT, ReadOptions

PREFIX = "hf:"


def read_hub(
    name: str, label: str, texts: Sequence[str], how: ReadOptions = STRICT
) -> dict[str, list[Example]]:
    """The splits of a data set; that for validation is named "validation".

    Rows with hidden labels (no value, or -1 for a class) are left out, and so are splits of such
    rows.

    Args:
        name: "hf:owner/name" or "hf:owner/name:configuration".
        label: the column of the labels; integers of a class column, or of a sequence of classes,
            become their names.
        texts: the columns of the sentences.
        how: the kind of labels, and their separator.

    Raises:
        ValueError: if it cannot be loaded, or a column is missing, with the existing ones.
    """
    datasets = require("datasets", extra="hub")
    path, _, configuration = name.removeprefix(PREFIX).partition(":")
    try:
        loaded = datasets.load_dataset(path, configuration or None)
    except Exception as error:  # the package raises errors of a dozen types
        raise ValueError(f"{name}: cannot be loaded ({error})") from error
    splits = {
        split: _read(rows, f"{name} {split}", label, texts, how) for split, rows in loaded.items()
    }
    for other in ("dev", "valid"):
        if "validation" not in splits and other in splits:
            splits["validation"] = splits.pop(other)
    return {split: examples for split, examples in splits.items() if examples}


def _read(
    rows: Any, where: str, label: str, texts: Sequence[str], how: ReadOptions
) -> list[Example]:
    for column in (label, *texts):
        if column not in rows.column_names:
            existing = ", ".join(rows.column_names)
            raise ValueError(f"{where}: no column {column!r}; the columns are {existing}")
    column = rows.features[label]
    names = getattr(getattr(column, "feature", column), "names", None)
    examples = []
    for number, row in enumerate(rows):
        value = row[label]
        if value is None or (value == -1 and how.target == "class"):
            continue
        sides = [sentence(row[text], where, number) for text in texts]
        cell = _cell(value, names, where, number, how)
        examples.append(labelled(sides, cell, where, number, how))
    return examples


def _cell(
    value: object, names: Sequence[str] | None, where: str, number: int, how: ReadOptions
) -> str:
    """A label, or a list of labels, as the cell of a table."""

    def named(one: Any) -> Any:
        return names[one] if names and isinstance(one, int) else one

    if not isinstance(value, Sequence) or isinstance(value, str):
        return str(named(value))
    if how.target != "labels":
        fault(where, number, f"label: expected one, got {len(value)}: --target labels")
    return joined([named(one) for one in value], where, number, how)
