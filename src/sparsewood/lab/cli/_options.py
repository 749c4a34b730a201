"""Command-line options made from dataclasses: flat names, a short and a long help."""

import dataclasses
import difflib
import io
import re
import types
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import MISSING, dataclass, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import docstring_parser
import tyro


@dataclass(frozen=True)
class Group:
    """The fields of a dataclass as options under one heading.

    Attributes:
        name: the heading.
        kind: the dataclass.
        common: the options that --help shows; None for all.
        defaults: defaults that replace those of the dataclass.
        without: fields without an option; they keep their defaults.
        together: fields that are shown under another heading, which groups may share.
    """

    name: str
    kind: type
    common: tuple[str, ...] | None = None
    defaults: dict[str, Any] = dataclasses.field(default_factory=dict)
    without: tuple[str, ...] = ()
    together: Mapping[str, str] = dataclasses.field(default_factory=dict)


def parse_options(
    prog: str, args: Sequence[str], groups: Sequence[Group], description: str, example: str
) -> list[Any]:
    """One instance of each group's dataclass, from the options in `args`.

    The first group has the options of the command itself. --help shows the common options and the
    first sentence about each, --help-all everything.
    """
    _check_names(groups)
    short = "--help" in args or "-h" in args
    text = f"{description}\n\nExample: {example}"
    if short and any(group.common is not None for group in groups):
        text += f"\n\nThese are the common options: {prog} --help-all lists every one."
    first, *others = groups
    headed: dict[str, list[tuple[str, Any, Any]]] = {}
    for group in others:
        for spec in _specs(group, short=short):
            headed.setdefault(group.together.get(spec[0], group.name), []).append(spec)
    views = [(name, _view(name, specs)) for name, specs in headed.items()]
    nested = [(name, tyro.conf.OmitArgPrefixes[view]) for name, view in views]
    outer = _view("Options", [*_specs(first, short=short), *nested])
    if short or "--help-all" in args:
        args = ["--help"]
    _check_options(prog, args, groups)
    with redirect_stderr(io.StringIO()) as said:
        try:
            parsed = tyro.cli(
                outer,
                prog=prog,
                description=text,
                args=args,
                config=(tyro.conf.FlagCreatePairsOff,),
            )
        except SystemExit as stop:
            if stop.code == 0:  # --help
                raise
            raise ValueError(f"{_complaint(said.getvalue())} ({prog} --help)") from None
    values = dict(vars(parsed))
    for view in [getattr(parsed, name) for name in headed]:
        values |= vars(view)
    return [
        group.kind(**group.defaults | {field.name: values[field.name] for field in fields(group)})
        for group in groups
    ]


def fields(group: Group) -> list[dataclasses.Field[Any]]:
    """The fields that have an option."""
    return [
        field
        for field in dataclasses.fields(group.kind)
        if field.init and field.name not in group.without
    ]


def _check_options(prog: str, args: Sequence[str], groups: Sequence[Group]) -> None:
    """Raise ValueError at the first unknown option.

    tyro would also refuse it, but suggests other names only in its frame, and none for `--no-...`.
    """
    known = ["--help"]
    for group in groups:
        for field in fields(group):
            option = field.name.replace("_", "-")
            known.append(f"--no-{option}" if default_of(group, field) is True else f"--{option}")
    for arg in args:
        option = arg.partition("=")[0].replace("_", "-")
        if option == "--":
            return
        if option.startswith("--") and option not in known:
            near = difflib.get_close_matches(option, known, n=1)
            hint = f": did you mean {near[0]}?" if near else ""
            raise ValueError(f"no option {option}{hint} ({prog} --help-all)")


def _complaint(said: str) -> str:
    """The message of an error of tyro, without its colours, frame, title and help.

    Every mistake is reported on one line, in the same words. tyro frames its errors over 4 to 14
    lines and quotes Python ("invalid literal for int() with base 10"). Messages that a new version
    words differently are passed on as they are.
    """
    said = re.sub(r"\x1b\[[\d;]*m", "", said)
    lines = [line.strip("│╭╮╰╯ ") for line in said.strip().splitlines()]
    is_rule = [not line.strip("─-") for line in lines]
    start = 2 if is_rule[1:2] == [True] else 1  # skip the title, and the rule that may follow it
    body = lines[start : is_rule.index(True, start) if True in is_rule[start:] else None]
    text = re.sub(r"\s+", " ", " ".join(body)).removesuffix(" (required)").rstrip(".")
    for pattern, plain in _PLAIN.items():
        if found := re.fullmatch(pattern, text, re.IGNORECASE):
            return plain(found)
    return text[:1].lower() + text[1:]


def _choice(found: re.Match[str]) -> str:
    value, option, choices = found.groups()
    names = ", ".join(re.findall(r"'([^']*)'", choices))
    return f"{option}: expected one of {names}; got {value!r}"


def _number(found: re.Match[str]) -> str:
    option, reason, value = found.groups()
    whole = "int" in reason or "INT" in reason
    return f"{option}: expected a {'whole ' * whole}number, got {value!r}"


# Messages of tyro about invalid values, and our wording.
_PLAIN = {
    r"Invalid choice '(.*)' for argument '(--\S+)'\. Expected one of \((.*)\)": _choice,
    r"Error parsing (--[^:]+): (.*(?:float|int\(\)|FLOAT|INT).*)[:\[ ]'(.*)'\]?": _number,
}


def _check_names(groups: Sequence[Group]) -> None:
    seen: dict[str, str] = {}
    for group in groups:
        for field in fields(group):
            other = seen.setdefault(field.name, group.name)
            assert other == group.name, f"--{field.name} is an option of {other} and {group.name}"


def _view(name: str, specs: Sequence[Any]) -> type:
    """A dataclass whose fields carry their help texts."""
    return make_dataclass(name, specs, kw_only=True, namespace={"__doc__": ""})


def _specs(group: Group, *, short: bool) -> list[tuple[str, Any, Any]]:
    """Name, type and default of each option, as `make_dataclass` wants them."""
    hints = get_type_hints(group.kind, include_extras=True)
    helps = descriptions(group.kind)
    common = [field.name for field in fields(group)] if group.common is None else group.common
    by_name = {field.name: field for field in fields(group)}
    shown = [by_name[name] for name in common if name in by_name]
    if not short:
        shown += [field for name, field in by_name.items() if name not in common]
    specs: list[tuple[str, Any, Any]] = []
    for field in shown:
        hint, default = hints[field.name], default_of(group, field)
        text = helps.get(field.name, "")
        if short and group.common is not None:
            text = re.split(r"[.;] ", text)[0]
        option = tyro.conf.arg(
            help=f"turn off: {text}" if default is True else text,
            metavar=_metavar(hint),
            help_behavior_hint=_behaviour(default),
        )
        value = dataclasses.field() if default is MISSING else dataclasses.field(default=default)
        specs.append((field.name, Annotated[hint, option], value))
    return specs


def default_of(group: Group, field: dataclasses.Field[Any]) -> Any:
    """The default of an option; `MISSING` if it is required."""
    if field.name in group.defaults:
        return group.defaults[field.name]
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


def _behaviour(default: Any) -> str:
    """The text after the help of an option: its default."""
    if default is MISSING:
        return "(required)"
    if default is None or isinstance(default, bool) or default in ((), ""):
        return ""
    if isinstance(default, tuple):
        return f"({' '.join(map(str, default))})"
    return f"({default})"


def _metavar(hint: Any) -> str | None:
    """The placeholder of the value of an option; None leaves it to tyro."""
    origin = get_origin(hint)
    if origin is Annotated:
        kind, *told = get_args(hint)
        return next((name for name in told if isinstance(name, str)), _metavar(kind))
    if origin is Literal:
        return "|".join(map(str, get_args(hint)))
    if origin in (Union, types.UnionType):
        kept = [part for part in get_args(hint) if part is not type(None)]
        return _metavar(kept[0]) if len(kept) == 1 else None
    if origin is tuple and get_args(hint)[-1] is Ellipsis:
        inner = _metavar(get_args(hint)[0])
        return inner and f"{inner}..."
    names = {Path: "PATH", int: "N", float: "X", str: "TEXT"}
    return names.get(hint)


def descriptions(kind: type) -> dict[str, str]:
    """The text of each field in the "Attributes:" sections of a dataclass and its bases."""
    found: dict[str, str] = {}
    for cls in reversed(kind.__mro__):
        for part in docstring_parser.parse(cls.__doc__ or "").params:
            text = re.sub(r"\s+", " ", part.description or "").strip().rstrip(".")
            found |= {name.strip(): text for name in part.arg_name.split(",")}
    return found
