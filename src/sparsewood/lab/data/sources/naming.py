"""Short names for several data sets on one page: their kind, and what tells them apart."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import PurePath
from typing import Any

from sparsewood.lab.data.sources import SOURCES

_PLACES = ("train", "data", "files")  # where data come from needs no name of an option


def headings(sources: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name for each source, as JSON has it, of any version: "classify: reviews.tsv, fine".

    One that is alone of its kind is called by that.
    """
    complete = [_complete(source) for source in sources]
    named = []
    for source in complete:
        alike = [other for other in complete if other["kind"] == source["kind"]]
        details = [
            _detail(name, source.get(name), [other.get(name) for other in alike])
            for name in dict.fromkeys(key for other in alike for key in other)
            if any(other.get(name) != source.get(name) for other in alike)
        ]
        told = ", ".join(filter(None, details))
        named.append(f"{source['kind']}: {told}" if told else str(source["kind"]))
    return named


def _complete(source: Mapping[str, Any]) -> dict[str, Any]:
    """The source with the options that it leaves at their defaults, where data come from first."""
    kind = str(source.get("kind", "data"))
    known = fields(SOURCES[kind]) if kind in SOURCES else ()
    whole = {f.name: f.default for f in known if f.default is not MISSING} | dict(source)
    ordered = [*(name for name in _PLACES if name in whole), *whole]
    return {"kind": kind} | {name: _plain(whole[name]) for name in dict.fromkeys(ordered)}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _detail(name: str, value: Any, values: Sequence[Any]) -> str:
    """An option in which sources differ, in words; empty where it is left out."""
    if value is None or value in ([], "", False):
        return ""
    label = name.replace("_", " ")
    if value is True:
        return label
    text = _short(value, values)
    return text if name in _PLACES else f"{label} {text}"


def _short(value: Any, values: Sequence[Any]) -> str:
    """A value, of a path its name alone where no other one has the same."""
    if isinstance(value, list):
        return " ".join(_short(one, []) for one in value)
    if not isinstance(value, str):
        return str(value)
    short = PurePath(value).name or value
    others = {other for other in values if isinstance(other, str) and other != value}
    return value if any(PurePath(other).name == short for other in others) else short
