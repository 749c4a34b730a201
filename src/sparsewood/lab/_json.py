"""Dataclasses of options as JSON, and back."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Options = TypeVar("Options")
_WRONG: Any = object()  # no value of this kind


def encode(options: Any) -> dict[str, Any]:
    """The fields of a dataclass, paths as strings and tuples as lists."""
    return {field.name: _written(getattr(options, field.name)) for field in fields(options)}


def decode(cls: type[Options], data: Mapping[str, Any], where: str) -> Options:
    """An object of the dataclass `cls` out of JSON.

    Raises:
        ValueError: on entries that are unknown, missing or of the wrong kind, as `where.name`.
    """
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    no_others(data, known, where)
    for name, field in known.items():
        if name not in data and field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{where}.{name} is missing")
    hints = get_type_hints(cls)
    values = {name: _read(value, hints[name]) for name, value in data.items()}
    for name, value in values.items():
        if value is _WRONG:
            raise ValueError(f"{where}.{name}: expected {_kind(hints[name])}, got {data[name]!r}")
    return cls(**values)


def no_others(data: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Raise ValueError where `data` has other entries than the `known` ones."""
    if unknown := sorted(set(data) - set(known)):
        raise ValueError(f"{where}: unknown {', '.join(unknown)}; expected {', '.join(known)}")


def _written(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_written(entry) for entry in value]
    return str(value) if isinstance(value, Path) else value


def _read(value: Any, hint: Any) -> Any:
    """`value` as something of this kind, or `_WRONG`."""
    origin = get_origin(hint)
    if origin in (UnionType, Union):
        found = (_read(value, option) for option in get_args(hint))
        return next((one for one in found if one is not _WRONG), _WRONG)
    if origin is tuple:
        inner = get_args(hint)[0]
        entries = tuple(_read(v, inner) for v in value) if isinstance(value, list) else (_WRONG,)
        return _WRONG if _WRONG in entries else entries
    if origin is Literal:
        return value if value in get_args(hint) else _WRONG
    if hint is Path:
        return Path(value) if isinstance(value, str) else _WRONG
    kinds = (int, float) if hint is float else hint
    is_number = hint in (int, float)
    fits = isinstance(value, kinds) and not (is_number and isinstance(value, bool))
    return value if fits else _WRONG


def _kind(hint: Any) -> str:
    origin = get_origin(hint)
    if origin in (UnionType, Union):
        return " or ".join(_kind(option) for option in get_args(hint))
    if origin is Literal:
        return " or ".join(map(repr, get_args(hint)))
    if origin is tuple:
        return f"a list of {_kind(get_args(hint)[0])}"
    if hint is Path:
        return "a path"
    return "null" if hint is NoneType else hint.__name__
