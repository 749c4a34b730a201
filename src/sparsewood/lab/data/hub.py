"""Data sets of the Hugging Face hub, through the package `datasets`."""

from collections.abc import Sequence
from typing import Any

from sparsewood.lab._extras import require
from sparsewood.lab.data._lines import sentence
from sparsewood.lab.data.examples import Example

PREFIX = "hf:"


def read_hub(name: str, label: str, texts: Sequence[str]) -> dict[str, list[Example]]:
    """The splits of a data set, the one for validation under "validation".

    Rows whose label is hidden (-1) are left out, and so are splits that have no others.

    Args:
        name: "hf:owner/name" or "hf:owner/name:configuration".
        label: the column of the labels; integers of a class column become their names.
        texts: the columns of the sentences.

    Raises:
        ValueError: if it cannot be loaded or a column is not there, naming those that are.
    """
    datasets = require("datasets", extra="hub")
    path, _, configuration = name.removeprefix(PREFIX).partition(":")
    try:
        loaded = datasets.load_dataset(path, configuration or None)
    except Exception as error:  # the package raises errors of a dozen kinds, some its own
        raise ValueError(f"{name}: cannot be loaded ({error})") from error
    splits = {split: _read(rows, f"{name} {split}", label, texts) for split, rows in loaded.items()}
    for other in ("dev", "valid"):
        if "validation" not in splits and other in splits:
            splits["validation"] = splits.pop(other)
    return {split: examples for split, examples in splits.items() if examples}


def _read(rows: Any, where: str, label: str, texts: Sequence[str]) -> list[Example]:
    for column in (label, *texts):
        if column not in rows.column_names:
            existing = ", ".join(rows.column_names)
            raise ValueError(f"{where}: no column {column!r}; the columns are {existing}")
    names = getattr(rows.features[label], "names", None)
    examples = []
    for number, row in enumerate(rows):
        value = row[label]
        if value is None or value == -1:
            continue
        sides = tuple(sentence(row[text], where, number) for text in texts)
        examples.append(Example(sides, str(names[value] if names else value)))
    return examples
