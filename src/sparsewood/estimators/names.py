"""Names of estimators, for the command line, JSON and tables.

A name is followed by a colon and the options that differ from their defaults:

    sparsemap    sparsemap:temperature=0.5,max_active=10    top-k:k=5    flat

`-` and `_` in a name are equivalent and may be omitted.

Options are the fields of the dataclass. A new estimator needs a line in `NAMES`. Other frozen
dataclasses are named in the same way, with their own table.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sparsewood._internal.numbers import shown
from sparsewood.estimators.aimle import AIMLE
from sparsewood.estimators.base import Estimator, options_of
from sparsewood.estimators.blackbox import Blackbox
from sparsewood.estimators.fixed import Fixed, Kind
from sparsewood.estimators.gibbs import Gibbs
from sparsewood.estimators.given import Given
from sparsewood.estimators.imle import IMLE
from sparsewood.estimators.map import MAP
from sparsewood.estimators.perturbed import Perturbed
from sparsewood.estimators.relaxed import Relaxed
from sparsewood.estimators.score_function import ScoreFunction
from sparsewood.estimators.sparse_map import SparseMAP
from sparsewood.estimators.spigot import Spigot
from sparsewood.estimators.straight_through import StraightThrough
from sparsewood.estimators.sum_and_sample import SumAndSample
from sparsewood.estimators.top_k import TopK

# name -> the class, and the options that the name implies
Names = Mapping[str, tuple[type, dict[str, Any]]]
# (class, options given) -> options that override the defaults of the class
Defaults = Callable[[type, Mapping[str, Any]], Mapping[str, Any]]
NAMES: dict[str, tuple[type[Estimator], dict[str, Any]]] = {
    "sparsemap": (SparseMAP, {}),
    "top-k": (TopK, {}),
    "sum-and-sample": (SumAndSample, {}),
    "score-function": (ScoreFunction, {}),
    "straight-through": (StraightThrough, {}),
    "spigot": (Spigot, {}),
    "perturbed": (Perturbed, {}),
    "imle": (IMLE, {}),
    "aimle": (AIMLE, {}),
    "blackbox": (Blackbox, {}),
    "relaxed": (Relaxed, {}),
    "gibbs": (Gibbs, {}),
    "map": (MAP, {}),
    **{kind.replace("_", "-"): (Fixed, {"kind": kind}) for kind in get_args(Kind)},
    "given": (Given, {}),
}

_WORDS = {int: "a whole number", float: "a number", bool: "true or false", NoneType: "none"}


def parse(text: str) -> Estimator:
    """The estimator with a name such as "sparsemap:max_active=10"."""
    return parse_among(text, NAMES)


def no_defaults(cls: type, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Use the defaults of the class."""
    return {}


def parse_among(text: str, names: Names, defaults: Defaults = no_defaults) -> Any:
    """Parse a name of the table `names`; `defaults` gives the options that are omitted."""
    if not isinstance(text, str):
        raise ValueError(f"estimator: expected a name, got {shown(text)}")
    written, colon, rest = text.partition(":")
    name = next((known for known in names if letters(known) == letters(written)), None)
    if name is None:
        raise ValueError(f"estimator: expected one of {', '.join(names)}; got {shown(text)}")
    cls, preset = names[name]
    kinds = {key: kind for key, kind in _options(cls).items() if key not in preset}
    values: dict[str, Any] = {}
    for item in rest.split(",") if colon else []:
        key, equals, value = item.partition("=")
        if key not in kinds or key in values or not equals:
            known = f"the options are {', '.join(kinds)}" if kinds else "it has no options"
            raise ValueError(f"estimator {name}: {known}; got {shown(item)}")
        values[key] = _read(f"estimator {name}: {key}", value, kinds[key])
    missing = [key for key in _required(cls) if key not in values and key not in preset]
    if missing:
        raise ValueError(f"estimator {name}: needs {', '.join(missing)}; got {shown(text)}")
    try:
        return cls(**preset, **{**defaults(cls, values), **values})
    except ValueError as error:
        raise ValueError(f"estimator {name}: {error}") from None


def name_of(estimator: Estimator) -> str:
    """The shortest name that `parse` turns into this estimator."""
    return name_among(estimator, NAMES)


def name_among(value: Any, names: Names, defaults: Defaults = no_defaults) -> str:
    """The name that `parse_among` turns into this value.

    Options at the default of the class are omitted, unless `defaults` overrides that default.
    """
    for name, (cls, preset) in names.items():
        if type(value) is not cls:
            continue
        known = _options(cls)
        options = {k: v for k, v in options_of(value).items() if k in known}
        if preset.items() <= options.items():
            told = (options.keys() | defaults(cls, options).keys()) - preset.keys()
            rest = ",".join(f"{k}={_write(getattr(value, k))}" for k in known if k in told)
            return f"{name}:{rest}" if rest else name
    raise ValueError(f"estimator: {shown(value)} has no name; known are {', '.join(names)}")


def letters(name: str) -> str:
    """A name without the characters that may be omitted."""
    return name.replace("-", "").replace("_", "")


def _options(cls: type) -> dict[str, Any]:
    """The options that a name can contain, with their types: numbers and words, no tensors."""
    hints = get_type_hints(cls)
    kinds = {field.name: hints[field.name] for field in fields(cls)}
    return {
        name: kind
        for name, kind in kinds.items()
        if all(one in _WORDS or isinstance(one, str) for one in _choices(kind))
    }


def _required(cls: type) -> list[str]:
    listed = fields(cls)
    return [field.name for field in listed if field.compare and field.default is MISSING]


def _choices(kind: Any) -> list[Any]:
    """The alternatives of an option's type: types, and the words of literals."""
    if get_origin(kind) in (Union, UnionType):
        return [one for part in get_args(kind) for one in _choices(part)]
    return list(get_args(kind)) if get_origin(kind) is Literal else [kind]


def _read(what: str, text: str, kind: Any) -> Any:
    choices = _choices(kind)
    if text in choices:
        return text
    if text == "none" and NoneType in choices:
        return None
    if text in ("true", "false") and bool in choices:
        return text == "true"
    for number in (int, float):
        if number in choices:
            try:
                return number(text)
            except ValueError:
                break
    expected = " or ".join(_WORDS.get(one, f'"{one}"') for one in choices)
    raise ValueError(f"{what}: expected {expected}, got {shown(text)}")


def _write(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
