"""`sparsewood compare`: compare estimators on one source."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from sparsewood.lab._files import write_text
from sparsewood.lab.cli._options import Group, parse_options
from sparsewood.lab.cli._runs import (
    RUNS,
    Protocol,
    Workers,
    config_groups,
    example,
    interruptible,
    pick_source,
    place_group,
    watched,
    writable_folder,
)
from sparsewood.lab.cli._tables import (
    check_rows,
    check_source,
    latent_sources,
    some,
    summary_table,
    tell_failures,
)
from sparsewood.lab.cli.report import report
from sparsewood.lab.jobs.pool import Place
from sparsewood.lab.report import Told
from sparsewood.lab.run import RunConfig
from sparsewood.lab.study.compare import (
    PARSER_LRS,
    comparison_search,
    default_estimators,
    train_comparison,
)
from sparsewood.lab.study.grid import TRIED, comparison_markdown, tries

DESCRIPTION = (
    "Compare estimators on one source. Each is trained with the same budget, of --max-epochs or\n"
    "--max-seconds. With the first seed, the learning rates of the parser are tried\n"
    "on validation, then the settings of the estimator; the best is trained with the other seeds.\n"
    "A comparison that was stopped is resumed by the same command with the same folder."
)
_BY_COMPARISON = ("estimator", "parser_lr", "seed")  # set by options of the command
_ENDLESS = 1_000_000  # epochs: the limit of seconds is reached before
_COMMON = ("estimators", "seeds", "parser_lrs", "settings", "workers", "out")
EXAMPLE = "--estimators flat sparsemap score-function spigot --seeds 0 1 2"


@dataclass(frozen=True)
class CompareOptions(Protocol, Workers):
    """Which runs to compare.

    Attributes:
        estimators: estimators to compare, named as for --estimator. Default: all. The settings of
            one with options, "spigot:eta=0.5", are not tried; sparsemap keeps at most ten trees per
            sentence. The baseline is flat if it is among them, otherwise the first.
        seeds: seeds to average over; rates and settings are tried with the first.
        parser_lrs: learning rates of the parser to try on validation, with the first seed.
        settings: try the settings of each estimator at its best rate.
        out: folder of the comparison. Default: runs/compare-SOURCE.
        title: title of the report.
    """

    estimators: tuple[Annotated[str, "NAME"], ...] = ()
    seeds: tuple[int, ...] = (0,)
    parser_lrs: tuple[float, ...] = PARSER_LRS
    settings: bool = True
    out: Path | None = None
    title: str | None = None


def main(args: list[str]) -> None:
    """Train missing runs and print the table."""
    source = pick_source("compare", args, DESCRIPTION, EXAMPLE, latent_sources())
    groups = config_groups(source, args, rare=["patience", "threads"], without=_BY_COMPARISON)
    of_source, model, training = groups
    model = replace(model, common=(*(model.common or ()), "composer"))
    # Equal budgets: patience must not end a run before the others.
    defaults = {**training.defaults, "patience": None}
    if any(arg.partition("=")[0].replace("_", "-") == "--max-seconds" for arg in args):
        defaults["max_epochs"] = _ENDLESS
    common = [name for name in training.common or () if name != "max_epochs"]
    options, place, *parts = parse_options(
        f"sparsewood compare {source.name}",
        args,
        [
            Group("comparison", CompareOptions, _COMMON),
            place_group(),
            of_source,
            model,
            replace(training, defaults=defaults, common=("max_epochs", "max_seconds", *common)),
        ],
        DESCRIPTION,
        example("compare", source.name, EXAMPLE),
    )
    run_comparison(RunConfig(*parts), options, place)


def run_comparison(config: RunConfig, options: CompareOptions, place: Place) -> None:
    """Train missing runs, print the table, and write compare.md and report.html."""
    source = config.source
    estimators = options.estimators or default_estimators(config)
    some(parser_lrs=options.parser_lrs, seeds=options.seeds)
    for lr in options.parser_lrs:
        replace(config.training, parser_lr=lr)  # raises ValueError if it is invalid
    folder = writable_folder(options.out or RUNS / f"compare-{source.name}")
    search = comparison_search(
        estimators, config, options.parser_lrs, options.seeds, folder, options.settings
    )
    if not (folder / "compare.json").exists():
        check_source(source, [row.start.model for row in search.rows.values()])
    print(f"comparison: {folder}", flush=True)
    with watched(folder, config, options.workers, place) as progress, interruptible():
        summary = train_comparison(
            estimators,
            config,
            options.parser_lrs,
            options.seeds,
            folder,
            own_settings=options.settings,
            workers=options.workers,
            on=place,
            progress=progress,
        )
    check_rows(summary)
    write_text(folder / "compare.md", comparison_markdown(summary))
    runs = [folder / run for row in summary["rows"].values() for run in row["runs"]]
    title = options.title or f"Estimators compared: {source.name}"
    baseline = summary["rows"].get(summary["baseline"], {}).get("estimator", "")
    told = Told(summary["finding"], baseline, tries(summary))
    page = report(runs, folder / "report.html", title, told)
    console = Console(highlight=False)
    console.print(summary_table(summary, source.name))
    console.print("", TRIED, tries_table(summary), "", Text(summary["finding"]), "", sep="\n")
    print(f"report: {page}", flush=True)
    tell_failures(summary)


def tries_table(summary: Mapping[str, Any]) -> Table:
    """One line per estimator: the validation results of all that was tried."""
    table = Table.grid(Column(no_wrap=True), Column(), padding=(0, 2), pad_edge=False)
    for name, told in tries(summary).items():
        table.add_row(f" {name}", Text(told))
    return table
