"""`sparsewood sweep`: search for good options."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from sparsewood.lab.cli import unknown
from sparsewood.lab.cli._command import train_command
from sparsewood.lab.cli._options import Group, parse_options
from sparsewood.lab.cli._runs import (
    RUNS,
    Protocol,
    Workers,
    at_least,
    config_groups,
    example,
    interruptible,
    pick_source,
    place_group,
    watched,
    writable_folder,
)
from sparsewood.lab.run import Run, RunConfig
from sparsewood.lab.run.prepare import check
from sparsewood.lab.study.space import RANGES
from sparsewood.lab.study.sweep import sweep
from sparsewood.lab.tasks.parsing import load_corpus

DESCRIPTION = "Search for the options that are best on validation, with optuna (extra [sweep])."
EXAMPLE = "--space lr=log:1e-3:1 dropout=0,0.3 --trials 20"
# Shown only by --help-all.
_RARE = (*("encoder", "attention", "lr", "patience"), *("seed", "device", "threads"))


@dataclass(frozen=True)
class SweepOptions(Protocol, Workers):
    """What to try.

    Attributes:
        space: OPTION=VALUES: comma-separated values, or a range log:LOW:HIGH, uniform:LOW:HIGH or
            int:LOW:HIGH.
        trials: number of trials. Default: all combinations, if there are no ranges.
        out: folder of the trials; the same folder resumes the search.
        storage: URL of a database that several machines share, such as sqlite:///sweep.db.
        prune: stop trials that are worse than the median at the same epoch.
        draw_seed: seed of the search; processes that share a search need different ones.
    """

    space: tuple[str, ...]
    trials: int | None = None
    out: Path | None = None
    storage: str | None = None
    prune: bool = False
    draw_seed: int = 0


def main(args: list[str]) -> None:
    """Print the trials with the best one marked, and the command that trains with its options."""
    source = pick_source("sweep", args, DESCRIPTION, EXAMPLE)
    options, place, *parts = parse_options(
        f"sparsewood sweep {source.name}",
        args,
        [
            Group("search", SweepOptions, ("space", "trials", "out", "prune", "workers")),
            place_group(),
            *config_groups(source, args, rare=_RARE),
        ],
        DESCRIPTION,
        example("sweep", source.name, EXAMPLE),
    )
    base = RunConfig(*parts)
    at_least(1, trials=options.trials)
    folder = writable_folder(options.out or RUNS / f"sweep-{source.name}")
    space = read_space(options.space, base)
    if not folder.exists():  # raise errors in the data before anything is written
        check(load_corpus(base.source), base.model, lambda _: None)
    watch = watched(folder, base, options.workers, place, "trial-*")
    with watch as progress, interruptible("run the same command again"):
        found = sweep(
            base,
            folder,
            space,
            options.trials,
            storage=options.storage,
            seed=options.draw_seed,
            prune=options.prune,
            workers=options.workers,
            on=place,
            progress=progress,
        )
    Console(highlight=False).print(_table(found))
    print(f"runs: {folder}")
    if found["best"]:
        best = Run(found["best"]["folder"]).config
        print(f"train with the options of the best, trial {found['best']['trial']}:")
        print(f"  {train_command(best)}")


def read_space(space: Sequence[str], base: RunConfig) -> dict[str, Any]:
    """{"training.lr": "log:1e-3:1", "model.hidden": [100, 300]} from OPTION=VALUES."""
    parts = {"source": base.source, "model": base.model, "training": base.training}
    owners = {f.name: part for part, config in parts.items() for f in fields(config)}
    found: dict[str, Any] = {}
    for entry in space:
        name, equals, values = entry.partition("=")
        field = name.replace("-", "_").removeprefix("__")
        if not equals or not values:
            raise ValueError(f"--space: expected OPTION=VALUES, got {entry!r}")
        if field not in owners:
            raise ValueError(f"--space: {unknown('option', name, list(owners))}")
        part = owners[field]
        if values.partition(":")[0] in RANGES:
            found[f"{part}.{field}"] = values
            continue
        # A comma before NAME= is part of a value: sparsemap:max_active=10,temperature=0.5
        found[f"{part}.{field}"] = listed = [_value(v) for v in re.split(r",(?!\w+=)", values)]
        for value in listed:  # raises ValueError if it does not fit
            data = base.to_json()
            RunConfig.from_json(data | {part: data[part] | {field: value}})
    return found


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(found: dict[str, Any]) -> Table:
    names = list(dict.fromkeys(name for trial in found["trials"] for name in trial["options"]))
    table = Table("trial", *(n.partition(".")[2] for n in names), "validation", "state")
    best = found["best"]
    for trial in found["trials"]:
        value = "" if trial["value"] is None else f"{trial['value']:.4g}"
        style = "bold green" if best and trial["trial"] == best["trial"] else None
        cells = [_shown(trial["options"].get(n, "")) for n in names]
        table.add_row(str(trial["trial"]), *cells, value, trial["state"], style=style)
    return table
