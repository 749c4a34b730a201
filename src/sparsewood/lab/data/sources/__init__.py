"""Sources: where a corpus and its word vectors come from, as options that can be written down."""

from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

from sparsewood.lab.data.sources.base import Source
from sparsewood.lab.data.sources.corpora import Sick, Snli, Sst, Subj
from sparsewood.lab.data.sources.listops import ListOps
from sparsewood.lab.data.sources.own import Classify, Pairs
from sparsewood.lab.data.sources.parse import Parse
from sparsewood.lab.data.sources.revdict import RevDict

__all__ = [
    "SOURCES",
    "Classify",
    "ListOps",
    "Pairs",
    "Parse",
    "RevDict",
    "Sick",
    "Snli",
    "Source",
    "Sst",
    "Subj",
    "source_from_json",
    "source_to_json",
]

SOURCES: dict[str, type[Source]] = {
    source.name: source
    for source in (Sst, Subj, Snli, Sick, RevDict, ListOps, Classify, Pairs, Parse)
}


def source_to_json(source: Source) -> dict[str, Any]:
    """The source as JSON holds it: its kind and its fields, paths as strings."""
    values = {field.name: getattr(source, field.name) for field in fields(source)}
    return {"kind": source.name} | {name: _to_json(value) for name, value in values.items()}


def source_from_json(data: dict[str, Any]) -> Source:
    """The source that `source_to_json` wrote.

    Raises:
        ValueError: if the kind or a field is unknown, or a field is missing.
    """
    values = dict(data)
    kind = values.pop("kind", None)
    if kind not in SOURCES:
        raise ValueError(f"source: expected a kind among {', '.join(SOURCES)}; got {kind!r}")
    hints = get_type_hints(SOURCES[kind])
    names = [field.name for field in fields(SOURCES[kind])]
    if unknown := [name for name in values if name not in names]:
        raise ValueError(
            f"source {kind}: no field {', '.join(unknown)}; the fields are {', '.join(names)}"
        )
    try:
        return SOURCES[kind](**{n: _from_json(value, hints[n]) for n, value in values.items()})
    except TypeError as error:
        raise ValueError(f"source {kind}: {error}") from error


def _to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_json(entry) for entry in value]
    return str(value) if isinstance(value, Path) else value


def _from_json(value: Any, hint: Any) -> Any:
    if isinstance(value, list):
        return tuple(Path(entry) for entry in value)  # no source holds any other tuple
    if isinstance(value, str) and hint in (Path, Path | None):
        return Path(value)
    return value
