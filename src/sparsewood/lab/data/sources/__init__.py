"""Sources: where a corpus and its word vectors come from, as options that can be saved."""

from collections.abc import Mapping
from typing import Any

from sparsewood.lab._json import decode, encode
from sparsewood.lab.data.sources.base import Source
from sparsewood.lab.data.sources.corpora import Logic, Mnli, Sick, Snli, Sst, Subj
from sparsewood.lab.data.sources.listops import ListOps
from sparsewood.lab.data.sources.parse import Parse
from sparsewood.lab.data.sources.revdict import RevDict
from sparsewood.lab.data.sources.user_files import Classify, Pairs

__all__ = [
    "SOURCES",
    "Classify",
    "ListOps",
    "Logic",
    "Mnli",
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
    for source in (
        *(Sst, Subj, Snli, Mnli, Sick, RevDict, ListOps, Logic),
        *(Classify, Pairs, Parse),
    )
}


def source_to_json(source: Source) -> dict[str, Any]:
    """The source as JSON: its kind and its fields, with paths as strings."""
    return {"kind": source.name} | encode(source)


def source_from_json(data: Mapping[str, Any]) -> Source:
    """The source that `source_to_json` wrote.

    Raises:
        ValueError: if the kind or a field is unknown, missing or of the wrong type.
    """
    values = dict(data)
    kind = values.pop("kind", None)
    if kind not in SOURCES:
        raise ValueError(f"source: expected a kind among {', '.join(SOURCES)}; got {kind!r}")
    return decode(SOURCES[kind], values, "source")
