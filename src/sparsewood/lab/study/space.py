"""The search space of a sweep: lists of values and ranges, by option."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.tasks.readers import from_name, name_of

if TYPE_CHECKING:
    import optuna

Choices = Sequence[Any] | str
RANGES = ("log", "uniform", "int")


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`: uniform, log-uniform, or integers."""

    kind: str
    low: float
    high: float

    @classmethod
    def parse(cls, name: str, text: str) -> "Range":
        """Read "log:1e-3:1", "uniform:0:0.5" or "int:1:8"."""
        kind, *ends = text.split(":")
        try:
            low, high = (float(end) for end in ends)
        except ValueError:
            low, high = 1.0, 0.0
        if kind not in RANGES or low > high or (kind == "log" and low <= 0):
            raise ValueError(
                f"{name}: expected a list of values, or log:LOW:HIGH, uniform:LOW:HIGH or "
                f"int:LOW:HIGH; got {text!r}"
            )
        return cls(kind, low, high)


def with_options(base: RunConfig, options: Mapping[str, Any]) -> RunConfig:
    """`base` with options such as "training.lr" replaced."""
    for name, value in options.items():
        part, field = name.split(".")
        base = replace(base, **{part: replace(getattr(base, part), **{field: value})})
    return base


def read_choices(base: RunConfig, name: str, given: Choices) -> Sequence[Any] | Range:
    """The values to try for an option such as "training.lr"; ValueError if it is unknown.

    Estimators are spelled as in `config.json`.
    """
    part, _, field = name.partition(".")
    parts = {"source": base.source, "model": base.model, "training": base.training}
    known = [f.name for f in fields(parts[part])] if part in parts else []
    if field not in known:
        raise ValueError(
            f"{name}: not an option of source, model or training"
            + (f"; {part} has {', '.join(known)}" if known else "")
        )
    if isinstance(given, str):
        return Range.parse(name, given)
    if not given:
        raise ValueError(f"{name}: expected at least one value")
    return [name_of(from_name(v)) for v in given] if name == "model.estimator" else list(given)


def grid_of(ranges: Mapping[str, Sequence[Any] | Range]) -> list[dict[str, Any]] | None:
    """All combinations; None if there are ranges."""
    lists = [given for given in ranges.values() if not isinstance(given, Range)]
    if len(lists) < len(ranges):
        return None
    return [dict(zip(ranges, values, strict=True)) for values in itertools.product(*lists)]


def suggest(trial: "optuna.Trial", name: str, given: Sequence[Any] | Range) -> Any:
    """The value of an option that optuna suggests for a trial."""
    if not isinstance(given, Range):
        return trial.suggest_categorical(name, given)
    if given.kind == "int":
        return trial.suggest_int(name, int(given.low), int(given.high))
    return trial.suggest_float(name, given.low, given.high, log=given.kind == "log")
